// Example requests for the OpenAPI document. The tests decode and send each of them.

export const requests = {
  "post /api/v1/signers": { id: "hot-1", type: "plain" },
  "post /api/v1/notifications": {
    id: "ops",
    type: "webhook",
    url: "https://hooks.example.com/relayer",
    signing_key: "whsec_9qu8VyNlvmbj8DzpnGzAEplN6kYSdeIa6d4w2+rzuRo="
  },
  "post /api/v1/relayers": {
    id: "payouts",
    name: "Payouts",
    network: "sepolia",
    network_type: "evm",
    paused: false,
    signer_id: "hot-1",
    notification_id: "ops",
    custom_rpc_urls: [{ url: "https://rpc.example.com/v1/my-key", weight: 100 }],
    policies: { min_balance: "100000000000000000", gas_price_cap: 90000000000, eip1559_pricing: true }
  }
} as const
