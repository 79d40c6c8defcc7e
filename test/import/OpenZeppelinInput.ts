// A configuration of OpenZeppelin Relayer with every field of its parser.

export const address = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
export const uuid = "2a1f3c7e-1111-4222-8333-444455556666"
const solanaAddress = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
const asset = "USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"
const env = (value: string) => ({ type: "env", value })

const tokenSwap = { slippage_percentage: 1, min_amount: 1, max_amount: 9, retain_min_amount: 1 }

const solanaPolicy = {
  fee_payment_strategy: "user",
  fee_margin_percentage: 5,
  min_balance: 7,
  allowed_tokens: [{ mint: solanaAddress, decimals: 6, symbol: "USDC", max_allowed_fee: 1, swap_config: tokenSwap }],
  allowed_programs: [solanaAddress],
  allowed_accounts: [solanaAddress],
  max_tx_data_size: 1232,
  max_signatures: 8,
  max_allowed_fee_lamports: 100_000,
  swap_config: {
    strategy: "jupiter-swap",
    cron_schedule: "0 0 */6 * * *",
    min_balance_threshold: 5,
    jupiter_swap_options: {
      priority_fee_max_lamports: 1,
      priority_level: "medium",
      dynamic_compute_unit_limit: true
    }
  }
}

const relayer = (id: string, network_type: string, network: string, policies: object) => ({
  id,
  name: `Relayer ${id}`,
  network_type,
  network,
  paused: false,
  signer_id: "turnkey",
  policies
})

const vault = {
  address: "https://vault.example",
  namespace: "team",
  role_id: env("VAULT_ROLE"),
  secret_id: env("VAULT_SECRET"),
  key_name: "hot",
  mount_point: "mount"
}

export const openZeppelin = {
  relayers: [
    {
      ...relayer("evm", "evm", "child", {
        min_balance: 1,
        gas_price_cap: 2,
        eip1559_pricing: true,
        gas_limit_estimation: false,
        include_revert_data: true,
        private_transactions: true,
        whitelist_receivers: [address]
      }),
      notification_id: "ops",
      custom_rpc_urls: ["https://one.example", { url: "https://two.example", weight: 3 }]
    },
    relayer("solana", "solana", "mainnet-beta", solanaPolicy),
    relayer("blocked", "solana", "own", { disallowed_accounts: [solanaAddress] }),
    relayer("stellar", "stellar", "own", {
      max_fee: 100,
      timeout_seconds: 10,
      min_balance: 1,
      concurrent_transactions: true,
      fee_payment_strategy: "user",
      slippage_percentage: 1,
      fee_margin_percentage: 2,
      allowed_tokens: [{ asset, max_allowed_fee: 1, swap_config: tokenSwap }],
      swap_config: { strategies: ["order-book"], cron_schedule: "0 0 */6 * * *", min_balance_threshold: 1 }
    }),
    { ...relayer("lost", "evm", "child", {}), signer_id: "cdp" }
  ],
  signers: [
    { id: "local", type: "local", config: { path: "keys/hot.json", passphrase: env("LOCAL_PASS") } },
    { id: "aws", type: "aws_kms", config: { region: "eu-west-1", key_id: "alias/hot" } },
    {
      id: "azure",
      type: "azure_key_vault",
      config: {
        auth_type: "client_secret",
        tenant_id: env("AZURE_TENANT"),
        client_id: uuid,
        client_secret: env("AZURE_SECRET"),
        federated_token_file: "/run/token",
        vault_url: "https://relayers.vault.azure.net",
        key_name: "hot",
        key_version: "9885aa558e8d448789683188f8c194b0"
      }
    },
    {
      id: "turnkey",
      type: "turnkey",
      config: {
        api_public_key: `02${"f".repeat(64)}`,
        api_private_key: env("TURNKEY_KEY"),
        organization_id: uuid,
        private_key_id: uuid,
        public_key: `02${"a".repeat(64)}`
      }
    },
    { id: "vault", type: "vault", config: vault },
    {
      id: "transit",
      type: "vault_transit",
      config: { ...vault, pubkey: "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=" }
    },
    {
      id: "google",
      type: "google_cloud_kms",
      config: {
        service_account: {
          project_id: "other-project",
          private_key_id: env("GOOGLE_KEY_ID"),
          private_key: env("GOOGLE_KEY"),
          client_email: env("GOOGLE_MAIL"),
          client_id: "103249887654321098765",
          auth_uri: "https://a.example/auth",
          token_uri: "https://oauth2.googleapis.com/other",
          auth_provider_x509_cert_url: "https://b.example/certs",
          client_x509_cert_url: "https://c.example/x509",
          universe_domain: "googleapis.com"
        },
        key: { location: "europe-west3", key_ring_id: "ring", key_id: "hot", key_version: 2 }
      }
    },
    {
      id: "cdp",
      type: "cdp",
      config: {
        api_key_id: "id",
        api_key_secret: env("CDP_SECRET"),
        wallet_secret: env("CDP_WALLET"),
        account_address: address
      }
    }
  ],
  notifications: [{ id: "ops", type: "webhook", url: "https://hooks.example", signing_key: env("SIGNING_KEY") }],
  networks: [
    {
      type: "evm",
      network: "parent",
      chain_id: 84_005,
      required_confirmations: 2,
      symbol: "ETH",
      average_blocktime_ms: 2000,
      is_testnet: true,
      features: ["eip1559"],
      tags: ["a"],
      explorer_urls: ["https://explorer.example"],
      rpc_urls: ["https://rpc.example", { url: "https://rpc2.example", weight: 4 }],
      gas_price_cache: { enabled: true, stale_after_ms: 1, expire_after_ms: 2 }
    },
    { type: "evm", network: "child", from: "parent", symbol: "CHLD" },
    { type: "solana", network: "own", average_blocktime_ms: 400, rpc_urls: ["https://solana.example"] },
    {
      type: "stellar",
      network: "own",
      passphrase: "Own Network",
      horizon_url: "https://horizon.example",
      average_blocktime_ms: 5000,
      rpc_urls: ["https://stellar.example"]
    }
  ],
  plugins: [
    {
      id: "swap",
      path: "swap.ts",
      timeout: 30,
      emit_logs: true,
      emit_traces: true,
      raw_response: true,
      allow_get_invocation: true,
      config: { a: 1 },
      forward_logs: true
    }
  ]
}
