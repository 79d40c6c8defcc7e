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
 * `unanswered`: it is unknown whether the service has done what it was asked for; the same request may be repeated.
 * `conflict`: another request has the name. `refused`: the service has done nothing.
 */
export class RelayersError extends Error {
  override readonly name = "RelayersError"
  readonly kind: "unanswered" | "conflict" | "refused"

  constructor(kind: "unanswered" | "conflict" | "refused", message: string, options?: ErrorOptions) {
    super(message, options)
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
