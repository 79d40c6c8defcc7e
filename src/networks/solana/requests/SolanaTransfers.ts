// Payments of top-ups on solana: a transfer of the System program, what it costs, and whether its payer has it.
import { Effect } from "effect"
import { systemProgram } from "../../../domain/chain/Amount.ts"
import { minBalanceOf } from "../../../domain/health/Funding.ts"
import { Ledger } from "../../../server/ledger/Ledger.ts"
import { OutboundWork } from "../../../server/limits/RateLimits.ts"
import type { Sender } from "../../../server/transactions/Intake.ts"
import type { Transfers } from "../../../server/transactions/Transfers.ts"
import * as Calls from "../chain/SolanaCalls.ts"
import type { SolanaProviders } from "../chain/SolanaCalls.ts"
import type { Solana } from "../rules/Solana.ts"
import { base64Of } from "../rules/SolanaExchanges.ts"
import type { SendSolanaTransaction } from "../rules/SolanaExchanges.ts"
import { rentMinimum } from "../rules/SolanaNumbers.ts"
import { makeSolanaProvidersOf } from "./SolanaChecks.ts"

/** The instruction `Transfer` of the System program (`SystemInstruction`): its number in four bytes, then lamports in eight. */
const transferData = (lamports: bigint): string => {
  const data = new DataView(new ArrayBuffer(12))
  data.setUint32(0, 2, true)
  data.setBigUint64(4, lamports, true)
  return base64Of(new Uint8Array(data.buffer))
}

/** Whether the account has so many lamports beside its minimum and what is in flight. */
export const makeSolanaFunds = Effect.gen(function* () {
  const ledger = yield* Ledger
  const { first } = yield* makeSolanaProvidersOf

  return Effect.fnUntraced(function* (
    providers: SolanaProviders,
    { account, relayer }: Sender<Solana>,
    required: bigint
  ) {
    const [{ value: balance }, { blockHeight }] = yield* first(providers, (node) =>
      Effect.all([node.call(Calls.balanceOf(account.address)), node.call(Calls.epochInfo)], { concurrency: 2 })
    )
    const reserved = yield* ledger.reserved(account, blockHeight)
    const policy = minBalanceOf("solana", relayer.policies)
    const minimum = policy > rentMinimum ? policy : rentMinimum
    return { balance, reserved, minimum, isEnough: balance - reserved - required >= minimum }
  })
})

type Simulate = (body: SendSolanaTransaction, sender: Sender<Solana>) => Effect.Effect<Solana["simulation"], Unasked>

type Unasked = Effect.Error<ReturnType<Transfers<Solana, Sender<Solana>>["quote"]>>

export const makeSolanaTransfers = Effect.fnUntraced(function* (simulate: Simulate) {
  const outboundWork = yield* OutboundWork
  const relayerProviders = yield* makeSolanaProvidersOf
  const funds = yield* makeSolanaFunds

  const transfers: Transfers<Solana, Sender<Solana>> = {
    bodyOf: ({ amount, to }, { account }) =>
      Effect.succeed({
        instructions: [
          {
            program_id: systemProgram,
            accounts: [
              { pubkey: account.address, is_signer: true, is_writable: true },
              { pubkey: to, is_signer: false, is_writable: true }
            ],
            data: transferData(amount)
          }
        ]
      }),
    quote: Effect.fnUntraced(function* ({ amount }, body, sender) {
      const { max_fee: fee, verdict } = yield* simulate(body, sender)
      const providers = yield* relayerProviders.of(sender)
      const { isEnough } = yield* outboundWork.run(funds(providers, sender, amount + fee))
      // The simulation of what the account does not have fails, too.
      if (!isEnough) return { fee, problem: "short" }
      return verdict.length === 0 ? { fee } : { fee, problem: "refused" }
    })
  }
  return transfers
})
