// A configuration of rrelayer and a list of its relayers, with every field of its parser.
import { address, uuid } from "./OpenZeppelinInput.ts"

export const mnemonic = "test test test test test test test test test test test junk"
const firstAddress = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"

const limit = { interval: "1m", transactions: 1, signing_operations: 1 }

const provider = {
  raw: { mnemonic: "${RAW_MNEMONIC}" }
}

export const rrelayer = {
  name: "team",
  description: "a team",
  api_config: {
    host: "0.0.0.0",
    port: 3000,
    allowed_origins: ["https://console.example"],
    authentication_username: "${USER}",
    authentication_password: "${PASSWORD}",
    trust_forwarded_for: true
  },
  signing_provider: provider,
  networks: [
    {
      name: "main",
      chain_id: 11_155_111,
      provider_urls: ["https://rpc.example/${PART}", "${SEPOLIA_RPC}"],
      block_explorer_url: "https://explorer.example",
      confirmations: 4,
      max_gas_price_multiplier: 2,
      gas_bump_blocks_every: { slow: 10, medium: 5, fast: 4, super_fast: 2 },
      gas_provider: "tenderly",
      enable_sending_blobs: true,
      allowed_random_relayers: ["a"],
      automatic_top_up: [
        {
          from: { safe: address, relayer: { address, internal_only: true } },
          relayers: "*",
          native: { min_balance: "1", top_up_amount: "2", decimals: 18 },
          erc20_tokens: [{ address, min_balance: "1", top_up_amount: "2", decimals: 6 }]
        }
      ],
      permissions: [
        {
          relayers: [firstAddress],
          allowlist: [address],
          disable_native_transfer: true,
          disable_transactions: true,
          disable_personal_sign: true,
          disable_typed_data_sign: true,
          api_keys: ["x"]
        }
      ],
      api_keys: [{ relayer: firstAddress, keys: ["${KEY_1}"] }]
    },
    {
      name: "kms",
      chain_id: 8453,
      provider_urls: ["https://base.example"],
      signing_provider: {
        aws_kms: { region: "eu-west-1", danger_override_alias: "acme", multi_region: true }
      }
    },
    {
      name: "hsm",
      chain_id: 137,
      provider_urls: ["https://polygon.example"],
      signing_provider: {
        pkcs11: { library_path: "/lib/hsm.so", identity: "acme", pin: "${PIN}", slot_id: 3, test_mode: false }
      }
    },
    {
      name: "keys",
      chain_id: 10,
      provider_urls: ["https://optimism.example"],
      signing_provider: {
        turnkey: {
          api_public_key: `02${"f".repeat(64)}`,
          api_private_key: "${TK}",
          organization_id: uuid,
          wallet_id: "w"
        }
      }
    },
    {
      name: "managed",
      chain_id: 56,
      provider_urls: ["https://bsc.example"],
      signing_provider: {
        aws_secret_manager: { id: "secret", key: "field", region: "eu-west-1" }
      }
    },
    {
      name: "lost",
      chain_id: 100,
      provider_urls: ["https://gnosis.example"],
      signing_provider: {
        privy: { app_id: "a", app_secret: "b" }
      }
    },
    {
      name: "fireblocks",
      chain_id: 42_161,
      provider_urls: ["https://arbitrum.example"],
      signing_provider: {
        fireblocks: {
          api_key: "a",
          private_key_path: "b",
          identity: "c",
          sandbox: true,
          hidden_on_ui: true
        }
      }
    },
    {
      name: "plain",
      chain_id: 1,
      provider_urls: ["https://mainnet.example"],
      signing_provider: {
        private_keys: [{ raw: "${PRIVATE_KEY}" }]
      }
    }
  ],
  webhooks: [
    {
      endpoint: "https://hooks.example",
      shared_secret: "${SHARED}",
      networks: ["main"],
      max_retries: 3,
      alert_on_low_balances: true
    }
  ],
  gas_providers: {
    blocknative: { enabled: true, api_key: "${GAS_1}" },
    etherscan: { enabled: true, api_key: "${GAS_2}" },
    infura: { enabled: true, api_key: "${GAS_3}", secret: "${GAS_4}" },
    tenderly: { enabled: true },
    custom: { endpoint: "https://gas.example", supported_networks: [1] }
  },
  rate_limits: {
    user_limits: { per_relayer: limit, global: limit },
    relayer_limits: limit,
    fallback_to_relayer: true
  },
  cron_jobs: [
    {
      name: "job",
      enabled: true,
      network: "main",
      relayers: [firstAddress],
      schedule: { every: "1h", run_on_startup: true },
      transaction: {
        to: address,
        value: "1",
        speed: "FAST",
        externalId: "a",
        data: "0x",
        contract: { function: "set(uint256)", args: ["1"] }
      }
    }
  ]
}

export const listed = (id: string, chainId: number, walletIndex: number, more: object = {}) => ({
  id,
  name: id,
  chainId,
  walletIndex,
  address: firstAddress,
  paused: false,
  // Not the default, so that it changes the document.
  eip1559Enabled: false,
  ...more
})

export const list = {
  items: [
    listed("one", 11_155_111, 0, {
      maxGasPrice: "7",
      createdAt: "2026-01-02T03:04:05Z",
      isPrivateKey: false
    }),
    listed("two", 8453, 3, { clonedFromChainId: 1 }),
    listed("three", 137, 1),
    listed("four", 10, 2),
    listed("five", 56, 0),
    listed("six", 100, 0),
    listed("seven", 1, -1),
    listed("eight", 11_155_111, 1, { address: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8" })
  ]
}
