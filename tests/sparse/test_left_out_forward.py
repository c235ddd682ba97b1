def test_one_document_alone(make_forward) -> None:
    """One document alone is summed in the order of the rows too, not pairwise."""
    from functools import reduce

    import numpy as np
    weights = [0.1 * n for n in range(1, 10)]
    index = make_forward([list(range(9)), [0]], 9)
    scores = index.score(np.array([0]), np.arange(9), np.array(weights))
    assert scores.tolist() == [reduce(float.__add__, weights, 0.0)]
