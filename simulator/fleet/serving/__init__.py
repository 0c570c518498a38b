"""Model servers that behave like vLLM 0.33: batching, blocks, metrics and HTTP, without a model.

The engine knows no clock and no network: requests go in with their times, it is told how far time
has come, and every figure it reports is counted from those requests.
"""
