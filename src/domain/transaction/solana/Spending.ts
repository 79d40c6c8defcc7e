// What instructions spend from the relayer, and the shapes in which they may.
import { refusal } from "./Instruction.ts"
import type { AccountState, Derivations, Instruction, Refusal } from "./Instruction.ts"

/** Where value goes. A transfer of tokens names its mint, except the oldest kind. */
export interface Receiver {
  readonly address: string
  /** The token, if the transfer is one of tokens. `unnamed`: the instruction does not say which token it is. */
  readonly token?: { readonly mint: string; readonly program: string } | "unnamed"
}

/** `out`: lamports that leave the relayer's account at most. `spent`: value in lamports, wrapped ones included. */
export interface Spending {
  readonly out: bigint
  readonly spent: bigint
  readonly receivers: ReadonlyArray<Receiver>
}

export interface Authority {
  readonly relayer: string
  /** Programs that the policy vouches for: they get the relayer as a writable signer. */
  readonly programs: ReadonlyArray<string>
  /** Mints of tokens that users pay with. The relayer's accounts for them are not closed. */
  readonly feeMints: ReadonlyArray<string>
  readonly derivations: Derivations
  /** Absent: accounts are not read, as at admission. */
  readonly accounts?: ReadonlyMap<string, AccountState>
  /** Lamports that an account without data needs on the cluster. Absent: not read. */
  readonly rent?: bigint
}

/** Undefined: the instruction does not have this shape. */
export type Shape = (instruction: Instruction, authority: Authority) => Spending | Refusal | undefined

export const nothing: Spending = { out: 0n, spent: 0n, receivers: [] }

export const notAllowed = (message: string): Refusal => refusal("fee_payer_in_instruction", message)

/** Whether the relayer stands at these places and at no other one. */
export const isOnlyAt = (
  { accounts }: Instruction,
  { relayer }: Authority,
  ...places: ReadonlyArray<number>
): boolean => accounts.every((account, index) => (account === relayer) === places.includes(index))

export const isRefusal = (value: object): value is Refusal => "code" in value
