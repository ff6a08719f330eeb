"""Mutation testing of `core/`: small mistakes made on purpose; which does no test notice?"""
