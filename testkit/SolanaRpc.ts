// A JSON-RPC server with the methods of a Solana node that the inspection of an account needs.
import { Effect } from "effect"
import { rawInteger } from "../src/domain/request/ExactJson.ts"
import * as RpcServer from "./RpcServer.ts"

export interface Account {
  balance: bigint
}

const context = { apiVersion: "2.3.0", slot: 348_000_000 }
const blockhash = "EkSnNWid2cvwEVnVx9aBqawnmiCNiDgp3gUdkDPTKN1N"

/** A test may change `account` at any time. Balances are JSON numbers with all their digits. */
export const make = (given: Partial<Account> = {}) => {
  const account: Account = { balance: 10n ** 9n, ...given }
  return Effect.map(
    RpcServer.make({
      getLatestBlockhash: () => ({ context, value: { blockhash, lastValidBlockHeight: 326_000_000 } }),
      getBalance: () => ({ context, value: rawInteger(account.balance) })
    }),
    (server) => ({ ...server, account })
  )
}
