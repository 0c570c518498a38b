module claimyard.dev/datapath/loadgen

go 1.24
