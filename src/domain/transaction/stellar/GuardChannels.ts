// The guard of envelopes that make and end channels. Callers cannot send these operations.
import { Equal } from "effect"
import type { Envelope, Operation, Party } from "./Envelope.ts"
import { refusal } from "./Refusal.ts"
import type { Refusal } from "./Refusal.ts"
import type { ChannelWork } from "./Stellar.ts"

const partyOf = (address: string): Party => ({ address, isMuxed: false })

/** In a creation, the relayer only pays the reserves of the channel, which gets no XLM. The other operations act for the channel. */
const creationOf = (channel: string): ReadonlyArray<Operation> => [
  { type: "beginSponsoringFutureReserves", takes: [], receivers: [] },
  { type: "createAccount", takes: [{ asset: "native", amount: 0n }], receivers: [channel] },
  { type: "setOptions", takes: [], receivers: [], source: partyOf(channel) },
  { type: "endSponsoringFutureReserves", takes: [], receivers: [], source: partyOf(channel) }
]

const mergeOf = (channel: string, relayer: string): Operation => ({
  type: "accountMerge",
  takes: [],
  receivers: [relayer],
  source: partyOf(channel)
})

const operationsOf = ({ addresses, kind }: ChannelWork, relayer: string): ReadonlyArray<Operation> =>
  addresses.flatMap((channel) => (kind === "create" ? creationOf(channel) : [mergeOf(channel, relayer)]))

/** Why an envelope does not do exactly this work. Undefined: it does exactly this work. */
export const workRefusal = (envelope: Envelope, work: ChannelWork, relayer: string): Refusal | undefined => {
  if (envelope.kind !== "transaction") return refusal("xdr_kind", "the envelope is no transaction")
  const { operations, preconditions, source } = envelope
  if (!Equal.equals(source, partyOf(relayer))) {
    return refusal("source_account_mismatch", `the source ${source.address} is not the relayer`)
  }
  const expected = operationsOf(work, relayer)
  const wrong = operations.findIndex((operation, index) => !Equal.equals(operation, expected[index]))
  if (wrong !== -1)
    return refusal("operation_not_allowed", `operation ${wrong + 1} is not part of the work on channels`)
  if (operations.length !== expected.length) return refusal("operation_count", `expected ${expected.length} operations`)
  const [precondition] = preconditions
  return precondition === undefined
    ? undefined
    : refusal("preconditions_unsupported", `${precondition} is not expected`)
}
