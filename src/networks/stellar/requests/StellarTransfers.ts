// Payments of top-ups on stellar: a payment of XLM, or the creation of the account, what it costs, and whether its payer has it.
import { Effect } from "effect"
import type { Sender } from "../../../server/transactions/Intake.ts"
import type { Transfers } from "../../../server/transactions/Transfers.ts"
import { draftOfCreation } from "../chain/StellarDrafts.ts"
import { library, networkIdOf } from "../chain/StellarLibrary.ts"
import type { Stellar } from "../rules/Stellar.ts"
import type { SendStellarTransaction } from "../rules/StellarRequests.ts"

type StellarTransfers = Transfers<Stellar, Sender<Stellar>>

type Simulate = (
  body: SendStellarTransaction,
  sender: Sender<Stellar>,
  now: number
) => Effect.Effect<Stellar["simulation"], Effect.Error<ReturnType<StellarTransfers["quote"]>>>

export const makeStellarTransfers = (simulate: Simulate): StellarTransfers => ({
  /** A payment needs an account. `allowed_operations` of the payer has to name `createAccount` to make it. */
  bodyOf: Effect.fnUntraced(function* ({ amount, kind, to }, { account, target }) {
    const network = target.relayer.network
    if (kind === "transfer") {
      return { network, operations: [{ type: "payment", destination: to, amount, asset: { type: "native" } }] }
    }
    const lib = yield* library
    const networkId = networkIdOf(target.network.passphrase)
    return {
      network,
      transaction_xdr: draftOfCreation(lib, account.address, { address: to, balance: amount }, networkId)
    }
  }),
  quote: Effect.fnUntraced(function* (_, body, sender, now) {
    const { fee, verdict } = yield* simulate(body, sender, now)
    if (fee === undefined) return { fee: 0n, problem: "refused" }
    if (verdict.length === 0) return { fee }
    return { fee, problem: verdict.every((code) => code === "insufficient_funds") ? "short" : "refused" }
  })
})
