// A family: the shapes of one network type. Everything else about transactions is the same for all networks.
/**
 * Each family registers itself here, by a declaration in its own file, so that unions over all of them need no list.
 *
 * @public
 */
export interface Families {}

/** A transaction as the API shows it. */
export type ShownTransaction = Families[keyof Families]["shown"]

/** A request to send, of any network type. */
export type TransactionBody = Families[keyof Families]["body"]

/** A request that takes the place of an earlier one, of any network type. */
export type TransactionReplacement = Families[keyof Families]["replacement"]

/** What a request would do and cost, of any network type. */
export type ShownSimulation = Families[keyof Families]["simulation"]

/** The sequences of an account as operators see them, of any network type. */
export type ShownSequences = Families[keyof Families]["sequences"]["shown"]

/** A request of a caller, and the response to it. */
export interface Exchange<Request = unknown, Response = unknown> {
  readonly request: Request
  readonly response: Response
}

/** Exchanges that only some network types have: `signing` gives signed bytes to the caller, `quote` and `build` are for users who pay. */
type ExchangeName = "signing" | "quote" | "build"

/** What a caller asks for, of any network type. */
export type ExchangeBody<Name extends ExchangeName> = Families[keyof Families][Name]["request"]

/** What the caller gets, of any network type. */
export type ShownExchange<Name extends ExchangeName> = Families[keyof Families][Name]["response"]

/**
 * A container of types. Each network type has one, such as `Evm`. All shapes are plain data. A neutral module that names no
 * family uses this one: its shapes are opaque there, and only the rules of the row's own network read them.
 */
export interface Family {
  /** The network type, which is also the prefix of the chain of a lane. */
  readonly type: string
  /** A relayer of this network type with its network. */
  readonly target: unknown
  /** The body of a send. */
  readonly body: unknown
  /** The body of a request that takes the place of an earlier one. `never`: there is none. */
  readonly replacement: unknown
  /** What a body would do and cost. `never`: there is no simulation. */
  readonly simulation: ShownSimulation
  // The compiler reads the members of these four later than their names: their types depend on all families.
  /** Bytes that the service signs and the caller sends. `never`: it signs none. */
  readonly signing: { readonly request: unknown; readonly response: ShownExchange<"signing"> }
  /** What a transaction costs a user who pays its fees in a token. `never`: no user can. */
  readonly quote: { readonly request: unknown; readonly response: ShownExchange<"quote"> }
  /** Such a transaction, for the user to sign. `never`: no user can. */
  readonly build: { readonly request: unknown; readonly response: ShownExchange<"build"> }
  /** The sequences of an account as operators see them. `never`: no operator sees them. */
  readonly sequences: { readonly shown: ShownSequences }
  /** What is stored of a body: what is to be executed. */
  readonly request: unknown
  /** Facts of a row besides its request. They never change. */
  readonly facts: unknown
  /** What one attempt offers: its price, and until when it is valid. */
  readonly offer: unknown
  /** Why nodes refused an attempt. */
  readonly refusal: unknown
  /** What a receipt has besides the neutral fields. */
  readonly details: unknown
  /** What a lane remembers of an account besides its sequences. */
  readonly counters: unknown
  /** What policy, network and limits allow now, besides the neutral terms. */
  readonly terms: unknown
  /** What one pass over the open transactions of a lane finds out for the decision about each of them. */
  readonly survey: unknown
  /** What a poll has seen about one transaction. */
  readonly seen: unknown
  /** What a decision can ask of the chain besides a poll. */
  readonly question: unknown
  /** What a node says to a broadcast. */
  readonly answer: unknown
  /** What a transaction of the account is, that no attempt names. */
  readonly foreign: unknown
  /** A transaction as the API shows it. */
  readonly shown: ShownTransaction
}
