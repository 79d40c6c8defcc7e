// A hostile client posts the attacks of the table on stellar relayers beside honest load. The relayers lose their fees and what the load
// sends, and the fees of the client stay within the limit of its key.
import type { Keypair } from "@stellar/stellar-sdk/base"
import { xdr } from "@stellar/stellar-sdk/base"
import { Effect } from "effect"
import type { Target } from "../../testkit/stellar/Attacks.ts"
import { allowClawback, issuer, policies, trust } from "../../testkit/stellar/Credits.ts"
import { accountIn } from "../../testkit/stellar/Entries.ts"
import { accountOf, decode, feeSourceOf } from "../../testkit/stellar/Envelope.ts"
import type { Case } from "../Case.ts"
import { attack } from "../sending/Attacking.ts"
import * as Relayers from "../sending/Relayers.ts"
import type { Relayer } from "../sending/Relayers.ts"
import * as Chain from "./Chain.ts"
import { attacker, now, racers, racesOn, requestsOn, signedBy, sponsoredOn, users } from "./Hostile.ts"
import * as Opening from "./Opening.ts"
import * as Verdict from "./Verdict.ts"

const scopes = ["transactions:read", "transactions:write", "transactions:sign", "rpc:call"]

/** Stroops that the fees of the client's envelopes may cost in a day. Its key may take no XLM out of a relayer. */
const feesPerDay = 100_000n
const limits = { stellar: { max_value: "0", max_fee_per_day: String(feesPerDay) } }

/** Requests of the client at the same time. */
const atOnce = 50

/** Stroops of each account of the client: 100 XLM. */
const userFunds = 1_000_000_000n

/** An envelope of the ledgers, with what it cost. */
const chargedIn = ({ network }: Chain.Chain) =>
  network.ledgers.flatMap(({ transactions }) =>
    transactions.flatMap(({ envelope, isSuccess, result }) => {
      const decoded = decode(network.networkId, envelope)
      const { feeCharged } = xdr.TransactionResult.fromXdr(result, "base64")
      return decoded === undefined ? [] : [{ decoded, isSuccess, feeCharged }]
    })
  )

const isOf = (keys: ReadonlyArray<Keypair>, address: string): boolean => keys.some((key) => key.publicKey() === address)

type Charged = ReturnType<typeof chargedIn>[number]

/** Stroops of XLM that payments take out of an account. */
const paidBy = ({ decoded, isSuccess }: Charged, address: string): bigint => {
  if (!isSuccess) return 0n
  return decoded.transaction.operations.reduce((sum, { body, sourceAccount }) => {
    const source = sourceAccount === null ? decoded.source : accountOf(sourceAccount)
    return body.type === "payment" && source === address ? sum + body.paymentOp.amount : sum
  }, 0n)
}

const costsOf = (charged: ReadonlyArray<Charged>, address: string): bigint =>
  charged.reduce(
    (sum, one) => sum + paidBy(one, address) + (feeSourceOf(one.decoded) === address ? one.feeCharged : 0n),
    0n
  )

/** Who may sign for an account, and what it locks. */
const controlOf = (chain: Chain.Chain, address: string): string => {
  const account = accountIn(chain.network.reads, address)
  if (account === undefined) return "no account"
  const { masterWeight, signers, sponsored, sponsoring, subEntries, thresholds } = account
  return JSON.stringify({ masterWeight, signers, sponsored, sponsoring, subEntries, thresholds })
}

/** A relayer whose users pay in a token. */
const addSponsored = Effect.fnUntraced(function* ({ chain, service }: Pick<Opened, "chain" | "service">) {
  const relayer = yield* Relayers.createOne(service, { network: "stand-in", network_type: "stellar", policies })
  for (const { address } of [relayer, { address: issuer.publicKey() }]) chain.network.grant(address, userFunds)
  for (const address of [relayer.address, ...users.map((user) => user.publicKey())])
    trust(chain.network, address, 1_000_000n)
  allowClawback(chain.network)
  return relayer
})

type Opened = Effect.Success<ReturnType<typeof Opening.open>>

export const StellarDrain: Case = {
  name: "stellar-drain",
  promise:
    "all attacks on a stellar relayer, 50 at a time, beside honest load: the relayers lose fees and what the load sends, to the stroop",
  run: ({ amount, random, tally }) =>
    Effect.gen(function* () {
      const opened = yield* Opening.open({ channels: 2 })
      const { chain, relayers, send, service } = opened
      const [first] = relayers
      if (first === undefined) return yield* Effect.die(new Error("there is no relayer"))
      const channels = yield* Opening.channelsOf(service, first)
      for (const key of [attacker, ...users, ...racers]) chain.network.grant(key.publicKey(), userFunds)
      const sponsored = yield* addSponsored(opened)
      const own = [...relayers, sponsored].map(({ address }) => address)
      const balances = own.map((address) => accountIn(chain.network.reads, address)?.balance ?? 0n)
      const controls = own.map((address) => controlOf(chain, address))
      const former = chargedIn(chain).length
      const before = Verdict.sequencesOf(chain, [...relayers, ...channels])

      const signed = [yield* signedBy(service, chain, first)]
      const targetOf = ({ address }: Relayer, key: Keypair): Target => ({
        address,
        other: channels[0]?.address ?? address,
        passphrase: chain.passphrase,
        now: now(),
        sequence: Chain.sequenceOf(chain, address) + 500n,
        user: { key, sequence: Chain.sequenceOf(chain, key.publicKey()) + 1n },
        signed
      })
      const { load, stop } = yield* send(random)
      const { passed, refused } = yield* attack(service, {
        scopes,
        limits,
        requests: () => {
          const relayer = random.pick([first, ...relayers.slice(1)])
          const user = random.pick([users[0] ?? attacker, ...users.slice(1)])
          const racer = random.pick([racers[0] ?? attacker, ...racers.slice(1)])
          return [
            ...requestsOn(relayer, targetOf(relayer, user)),
            ...sponsoredOn(sponsored, targetOf(sponsored, user)),
            ...racesOn(chain, relayers.slice(0, 2), racer, random.int(0, 1) === 1)
          ]
        },
        random,
        atOnce,
        lasts: amount(60_000, 15_000),
        least: amount(2000, 300)
      })
      yield* stop
      yield* Verdict.check(tally, service, { chain, load, before })

      const given = passed.find(({ path }) => path.endsWith("/sign-transaction"))
      tally.expect(given === undefined, `nothing is signed for the client: ${JSON.stringify(given)}`)
      const charged = chargedIn(chain).slice(former)
      for (const [index, address] of own.entries()) {
        const expected = (balances[index] ?? 0n) - costsOf(charged, address)
        const found = accountIn(chain.network.reads, address)?.balance
        tally.expect(found === expected, `relayer ${address} has ${expected} stroops: ${found}`)
        tally.expect(controlOf(chain, address) === controls[index], `nobody else controls ${address}`)
      }
      const hostile = charged.filter(({ decoded }) => isOf([...users, ...racers], decoded.source))
      const paid = hostile.filter(({ decoded }) => own.includes(feeSourceOf(decoded)))
      const fees = paid.reduce((sum, { feeCharged }) => sum + feeCharged, 0n)
      const taken = own.reduce((sum, address) => sum + charged.reduce((all, one) => all + paidBy(one, address), 0n), 0n)
      tally.set("attacks refused", refused)
      tally.set("accepted, of which the client may only make the relayer pay fees", passed.length)
      tally.set("stroops of fees for the client", Number(fees))
      tally.expect(refused > 0, "attacks are refused")
      tally.expect(fees <= feesPerDay, `the fees for the client are at most ${feesPerDay}: ${fees}`)
      const sent = load.accepted.reduce((sum, { slot }) => sum + Chain.amountOf(slot), 0n)
      tally.expect(taken === sent, `the relayers pay ${sent} stroops, as the load requested: ${taken}`)
      const paidFor = hostile.filter(({ decoded }) => feeSourceOf(decoded) === sponsored.address)
      tally.expect(paidFor.length === 0, "no envelope is paid for whose user pays too little")
      const raced = hostile.filter(({ decoded, isSuccess }) => isSuccess && isOf(racers, decoded.source))
      tally.set("envelopes of users that also send them", raced.length)
      tally.expect(raced.length > 0, "users send their envelopes, too")
      const successful = hostile.filter(({ decoded, isSuccess }) => isSuccess && !isOf(racers, decoded.source))
      tally.expect(successful.length === 0, `no envelope of the client does what it says: ${successful.length} do`)
    })
}
