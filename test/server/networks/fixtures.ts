// Valid requests for networks of a team's own.
export const rpc = { url: "https://rpc.example.com/v1/secret-path", weight: 50 }

export const evmNetwork = {
  name: "our-chain",
  network_type: "evm",
  rpc_urls: [rpc, "https://rpc.example.org"],
  explorer_urls: ["https://explorer.example.com"],
  average_blocktime_ms: 2000,
  is_testnet: true,
  tags: ["rollup"],
  chain_id: 987_654,
  required_confirmations: 3,
  features: ["eip1559"],
  symbol: "OUR"
}

export const shownRpc = [
  { url: "https://rpc.example.com/***", weight: 50 },
  { url: "https://rpc.example.org", weight: 100 }
]

export const solanaNetwork = {
  name: "our-validator",
  network_type: "solana",
  rpc_urls: ["https://solana.example.com/key"],
  average_blocktime_ms: 400
}

export const stellarNetwork = {
  name: "our-stellar",
  network_type: "stellar",
  rpc_urls: ["https://stellar.example.com/key"],
  average_blocktime_ms: 5000,
  passphrase: "Our Network ; 2026",
  horizon_url: "https://horizon.example.com"
}
