// Valid requests, which tests send or make invalid.

export const signer = { id: "signer-1", type: "plain" }

export const notification = {
  id: "notification-1",
  type: "webhook",
  url: "https://hooks.example.com/x",
  signing_key: "0123456789abcdef0123456789abcdef"
}

export const evmRelayer = {
  id: "relayer-1",
  name: "Payouts",
  network: "sepolia",
  network_type: "evm",
  paused: false,
  signer_id: "signer-1",
  notification_id: "notification-1",
  custom_rpc_urls: [{ url: "https://rpc.example.com/v1/secret-path", weight: 50 }, { url: "https://rpc.example.org" }],
  policies: {
    eip1559_pricing: true,
    gas_limit_estimation: false,
    gas_price_cap: 90_000_000_000,
    include_revert_data: true,
    min_balance: "340282366920938463463374607431768211455",
    private_transactions: false,
    whitelist_receivers: ["0x00112233445566778899AABbCCdDeeFf00112233"]
  }
}

const solanaAddress = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"

export const solanaRelayer = {
  id: "relayer-2",
  name: "Solana",
  network: "mainnet-beta",
  network_type: "solana",
  paused: true,
  signer_id: "signer-1",
  policies: {
    fee_payment_strategy: "user",
    min_balance: "18446744073709551615",
    max_tx_data_size: 1232,
    max_signatures: 8,
    allowed_programs: [solanaAddress],
    disallowed_accounts: [solanaAddress],
    allowed_tokens: [{ mint: solanaAddress, decimals: 6, symbol: "USDC", swap_config: { slippage_percentage: 0.5 } }],
    fee_margin_percentage: 1.5,
    max_allowed_fee_lamports: 100_000,
    swap_config: {
      strategy: "jupiter-swap",
      cron_schedule: "0 */5 * * * *",
      min_balance_threshold: 5_000_000,
      jupiter_swap_options: {
        priority_fee_max_lamports: 1000,
        priority_level: "high",
        dynamic_compute_unit_limit: true
      }
    }
  }
}

export const stellarRelayer = {
  id: "relayer-3",
  name: "Stellar",
  network: "testnet",
  network_type: "stellar",
  paused: false,
  signer_id: "signer-1",
  policies: {
    fee_payment_strategy: "relayer",
    min_balance: 1_000_000,
    max_fee: 100_000,
    timeout_seconds: 60,
    concurrent_transactions: true,
    allowed_tokens: [{ asset: "USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN", max_allowed_fee: 1000 }],
    fee_margin_percentage: 10,
    slippage_percentage: 1
  }
}

export const relayers = [evmRelayer, solanaRelayer, stellarRelayer]
