// A JSON-RPC server with the methods of an EVM node that the inspection of an account needs.
import { Effect } from "effect"
import * as RpcServer from "./RpcServer.ts"

export interface Account {
  chainId: bigint
  nonce: bigint
  balance: bigint
}

const hex = (value: bigint) => `0x${value.toString(16)}`

/** A test may change `account` at any time. */
export const make = (given: Partial<Account> = {}) => {
  const account: Account = { chainId: 11155111n, nonce: 7n, balance: 10n ** 18n, ...given }
  return Effect.map(
    RpcServer.make({
      eth_chainId: () => hex(account.chainId),
      eth_getTransactionCount: () => hex(account.nonce),
      eth_getBalance: () => hex(account.balance),
      eth_feeHistory: () => ({ oldestBlock: "0x1", baseFeePerGas: ["0x1", "0x1"], gasUsedRatio: [0.5] })
    }),
    (server) => ({ ...server, account })
  )
}
