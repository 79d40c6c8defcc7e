// What a facilitator needs of the service: the port that `http.ts` implements on the client, and `layers.ts` on the Layers.

/** 0x and hex digits. */
export type Hex = `0x${string}`

export interface Relayer {
  readonly id: string
  readonly address: Hex
}

/** A transaction of a relayer, as far as a settlement depends on it. */
export interface Row {
  readonly id: string
  readonly relayerId: string
  readonly externalId: string
  readonly status: "pending" | "sent" | "submitted" | "mined" | "confirmed" | "failed" | "canceled" | "expired"
  /** What it waits for, or why it ended. */
  readonly code?: string
  readonly reason?: string
  /** The decoded text with which the token refused the call. */
  readonly revertReason?: string
  /** The hash that was mined, else the newest one. Absent if nothing was signed. */
  readonly hash?: Hex
  /** What a block has at its nonce. */
  readonly minedAs?: "call" | "noop"
  readonly to: Hex
  readonly data: Hex
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

export interface Call {
  readonly externalId: string
  readonly to: Hex
  readonly data: Hex
  readonly gasLimit: number
  /** Milliseconds since 1970. */
  readonly validUntil: number
}

/**
 * `unanswered`: it is unknown whether the service has done what it was asked for; the same request may be repeated. `busy`: the
 * service has done nothing, and would do it later. `refused`: the service has done nothing.
 */
export type ErrorKind = "unanswered" | "busy" | "refused"

export class RelayersError extends Error {
  override readonly name = "RelayersError"
  readonly kind: ErrorKind

  constructor(kind: ErrorKind, message: string) {
    super(message)
    this.kind = kind
  }
}

/** `free`: nobody has the name. `held`: another holder has it for some seconds. `final`: it is settled for good. */
export type ClaimState = "free" | "held" | "final"

/** Each method rejects with `RelayersError`. */
export interface Relayers {
  /** The relayers of a chain that a payment may be sent through, in any order. */
  readonly relayersOf: (chainId: number) => Promise<ReadonlyArray<Relayer>>
  /** The transactions with this `external_id`, of all relayers. */
  readonly find: (externalId: string) => Promise<ReadonlyArray<Row>>
  /** Accepts the call once per relayer and `externalId`: a repetition returns the row. */
  readonly send: (relayerId: string, call: Call) => Promise<Row>
  /** The row as soon as it is mined, final, or the signal ends the wait: then as it was. */
  readonly waitFor: (row: Row, until: "mined" | "confirmed", signal: AbortSignal) => Promise<Row>
  /** The canceled row. Undefined if something of it was signed: then nothing has changed. */
  readonly cancelPending: (row: Row) => Promise<Row | undefined>
  /** The result of a JSON-RPC call to a node of the relayer. */
  readonly call: (relayerId: string, method: string, params: ReadonlyArray<unknown>) => Promise<unknown>
  /** Claims the name for some seconds, or extends the lease of its holder. `mine`: `by` holds it now. */
  readonly claim: (name: string, by: string, seconds: number) => Promise<"mine" | "held" | "final">
  /** False: `by` does not hold the name any more. */
  readonly finish: (name: string, by: string) => Promise<boolean>
  readonly release: (name: string, by: string) => Promise<void>
  readonly claimOf: (name: string) => Promise<ClaimState>
}

// What both implementations read from the service.

/** Errors with which the service says that it has done nothing. Every other one leaves open what it has done. */
const refusals = new Set([
  "BadRequest",
  "Forbidden",
  "NotImplemented",
  "PayloadTooLarge",
  "RelayerNotFound",
  "RelayerPaused",
  "TransactionConflict",
  "TransactionLimitExceeded",
  "TransactionNotFound",
  "Unauthorized"
])

const kindOf = (tag: unknown): ErrorKind => {
  if (tag === "TooManyRequests") return "busy"
  return typeof tag === "string" && refusals.has(tag) ? "refused" : "unanswered"
}

export const tagOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "_tag" in error ? error._tag : undefined

/** What an error of the service, or of its client, means for a settlement. */
export const errorOf = (error: unknown): RelayersError => {
  if (error instanceof RelayersError) return error
  return new RelayersError(kindOf(tagOf(error)), error instanceof Error ? error.message : String(error))
}

/** A transaction as the service shows it. `createdAt`: milliseconds since 1970. */
export interface Shown {
  readonly id: string
  readonly relayer_id: string
  readonly network_type: string
  readonly status: Row["status"]
  readonly code?: string
  readonly status_reason?: string
  readonly revert_reason?: string
  readonly external_id?: string
  readonly hash?: string
  readonly mined_as?: "call" | "noop"
  readonly to?: string
  readonly data?: string
}

const hex = (text: string | undefined): Hex => (text?.startsWith("0x") === true ? (text as Hex) : "0x")

export const rowOf = (shown: Shown, createdAt: number): Row => ({
  id: shown.id,
  relayerId: shown.relayer_id,
  externalId: shown.external_id ?? "",
  status: shown.status,
  to: hex(shown.to),
  data: hex(shown.data),
  createdAt,
  ...(shown.code === undefined ? {} : { code: shown.code }),
  ...(shown.status_reason === undefined ? {} : { reason: shown.status_reason }),
  ...(shown.revert_reason === undefined ? {} : { revertReason: shown.revert_reason }),
  ...(shown.hash === undefined ? {} : { hash: hex(shown.hash) }),
  ...(shown.mined_as === undefined ? {} : { minedAs: shown.mined_as })
})

/** A relayer as the service lists it. */
export interface Listed {
  readonly id: string
  readonly address: string
  readonly network: string
  readonly network_type: string
  readonly paused: boolean
  readonly system_disabled: boolean
}

/** The reply of a node: its result, or its error as one of the port. */
export const resultOf = (reply: unknown): unknown => {
  if (typeof reply !== "object" || reply === null) throw new RelayersError("unanswered", "a node gave no reply")
  if (!("error" in reply) || reply.error === undefined) return "result" in reply ? reply.result : null
  const { error } = reply
  const message =
    typeof error === "object" && error !== null && "message" in error ? String(error.message) : "no reason"
  throw new RelayersError("refused", message)
}

/** The relayers of a chain that may be sent through. `chainIdOf`: the service is asked once per relayer and network. */
export const makeListing = (
  list: () => Promise<ReadonlyArray<Listed>>,
  call: (relayerId: string, method: string, params: ReadonlyArray<unknown>) => Promise<unknown>
) => {
  const chainIds = new Map<string, number>()

  const chainIdOf = async ({ id, network }: Listed): Promise<number> => {
    const key = `${network}/${id}`
    const known = chainIds.get(key)
    if (known !== undefined) return known
    const chainId = Number(await call(id, "eth_chainId", []))
    chainIds.set(key, chainId)
    return chainId
  }

  return async (chainId: number): Promise<ReadonlyArray<Relayer>> => {
    const usable = (await list()).filter(
      ({ network_type, paused, system_disabled }) => network_type === "evm" && !paused && !system_disabled
    )
    const found = await Promise.all(usable.map(async (one) => ({ one, chainId: await chainIdOf(one) })))
    return found
      .filter((each) => each.chainId === chainId)
      .map(({ one }) => ({ id: one.id, address: hex(one.address) }))
  }
}
