// The script of solana validators. Its oracle is what the validator says about the receivers, never what the service says.
import { Effect, Schedule } from "effect"
import * as Base58 from "../src/domain/transaction/solana/Base58.ts"
import { memoProgram, systemProgram } from "../src/domain/transaction/solana/Programs.ts"
import { randomBytes } from "node:crypto"
import type { Started } from "./Nodes.ts"
import * as Script from "./Script.ts"
import type { Sheet } from "./Sheet.ts"

/** Lamports that the relayer gets: 100 SOL. */
const funds = 100_000_000_000n

/** Lamports of a transfer: more than the least that an account without data must have. */
const amount = 1_000_000n

const newAddress = () => Base58.encode(randomBytes(32))

const transferData = (lamports: bigint) =>
  Buffer.from([2, 0, 0, 0, ...new Uint8Array(BigUint64Array.of(lamports).buffer)]).toString("base64")

const memo = (text: string) => ({ program_id: memoProgram, accounts: [], data: Buffer.from(text).toString("base64") })

export const run = Effect.fnUntraced(function* (sheet: Sheet, started: Started) {
  const script = yield* Script.open
  const { call } = started
  const balance = (address: string) =>
    Effect.map(call("getBalance", [address, { commitment: "finalized" }]), (answer) =>
      BigInt((answer as { value: number }).value)
    )
  const received = (receivers: ReadonlyArray<string>) =>
    Effect.map(Effect.forEach(receivers, balance), (all) => all.reduce((sum, one) => sum + one, 0n) / amount)

  yield* script.createNetwork({
    network_type: "solana",
    name: "field",
    rpc_urls: [started.url],
    average_blocktime_ms: 400,
    is_testnet: true
  })
  const relayer = yield* script.createRelayer({
    network: "field",
    network_type: "solana",
    policies: { fee_payment_strategy: "relayer" }
  })
  const transfer = (to: string, lamports = amount) => ({
    program_id: systemProgram,
    accounts: [
      { pubkey: relayer.address, is_signer: true, is_writable: true },
      { pubkey: to, is_signer: false, is_writable: true }
    ],
    data: transferData(lamports)
  })
  const transfers = Effect.fnUntraced(function* (count: number, more: object = {}) {
    const receivers = Script.times(count, newAddress)
    const sent = yield* script.sendAll(
      relayer,
      receivers.map((to) => ({ instructions: [transfer(to)], ...more }))
    )
    return { receivers, sent }
  })
  const outcome = Effect.fnUntraced(function* ({ receivers, sent }: Script.Transfers) {
    const rows = yield* script.ends(relayer, sent)
    return `${Script.counted(rows)}; ${yield* received(receivers)} received`
  })

  yield* call("requestAirdrop", [relayer.address, Number(funds)])
  yield* balance(relayer.address).pipe(
    Effect.repeat({ until: (found) => found >= funds, schedule: Schedule.spaced("1 second") })
  )
  yield* Effect.map(script.call(`relayers/${relayer.id}/check`, { method: "POST" }), () => undefined)

  yield* sheet.check(
    "a transfer",
    "1 confirmed; 1 received",
    Effect.gen(function* () {
      return yield* outcome(yield* transfers(1))
    })
  )
  yield* sheet.check(
    "50 transfers at once",
    "50 confirmed; 50 received",
    Effect.gen(function* () {
      return yield* outcome(yield* transfers(50))
    })
  )
  yield* sheet.check(
    "a `compute_unit_price` without a limit",
    "1 confirmed; 1 received",
    Effect.gen(function* () {
      return yield* outcome(yield* transfers(1, { compute_unit_price: "1000" }))
    })
  )
  yield* sheet.check(
    "62 instructions",
    "confirmed",
    Effect.gen(function* () {
      const sent = yield* script.send(relayer, {
        instructions: Script.times(62, (index) => memo(String.fromCodePoint(65 + (index % 26))))
      })
      return Script.ended(yield* script.end(relayer, sent))
    })
  )
  yield* sheet.check(
    "65 instructions",
    "400, names instructions",
    Effect.gen(function* () {
      const { status, text } = yield* script.ask(relayer, { instructions: Script.times(65, () => memo("a")) })
      return `${status}, ${text.includes("instructions") ? "names instructions" : text}`
    })
  )
  yield* sheet.check(
    "a transfer of more than there is, and a transfer behind it",
    "0 received; 1 confirmed; 1 received",
    Effect.gen(function* () {
      const to = newAddress()
      const sent = yield* script.send(relayer, { instructions: [transfer(to, funds * 10n)] })
      const behind = yield* outcome(yield* transfers(1))
      yield* script.cancel(relayer, sent)
      yield* script.end(relayer, sent)
      return `${yield* received([to])} received; ${behind}`
    })
  )
  yield* Script.commonCases(script, {
    check: (name, expected, see) => sheet.check(name, expected, see),
    leaveOut: (name, why) => sheet.leaveOut(name, why),
    restart: started.restart,
    relayer,
    transfers,
    outcome,
    received
  })
})
