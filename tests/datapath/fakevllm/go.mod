module claimyard.dev/datapath/fakevllm

go 1.24
