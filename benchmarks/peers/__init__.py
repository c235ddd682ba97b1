"""Sparse engines behind one interface: a collection as arrays -> an index in a folder -> ways to answer all queries.

A module a peer; it knows its library and no other peer. `sparse_peers.py` runs each in processes of its own.
"""
