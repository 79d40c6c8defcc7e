// What a simulation must leave of the relayer's accounts (rules S11 and S12). It is a second line: the state of the chain can
// change between simulation and execution.
import { refusal } from "./Instruction.ts"
import type { Refusal } from "./Instruction.ts"
import { systemProgram } from "./Programs.ts"

interface FeePayerState {
  readonly lamports: bigint
  readonly owner: string
  readonly dataBytes: number
}

/** The addresses that can move the tokens of a token account of the relayer, or close it. */
export interface TokenAuthorities {
  readonly owner: string
  readonly delegate?: string
  readonly closeAuthority?: string
}

/** A token account of the relayer. */
interface TokenState extends TokenAuthorities {
  /** Units of the token. */
  readonly amount: bigint
}

export interface SimulatedAccounts {
  readonly before: FeePayerState
  readonly after: FeePayerState
  /** Token accounts of the relayer that the message writes, by address. An absent `after` was closed. */
  readonly tokens: ReadonlyMap<string, { readonly before: TokenState; readonly after?: TokenState }>
  /** Accounts that an instruction of the message closes. */
  readonly closed: ReadonlyArray<string>
}

const isSame = (one: TokenAuthorities, other: TokenAuthorities): boolean =>
  one.owner === other.owner && one.delegate === other.delegate && one.closeAuthority === other.closeAuthority

/** `allowed`: the fee, and the lamports that the message declares to take. */
export const brokenSimulation = (
  { before, after, tokens, closed }: SimulatedAccounts,
  allowed: bigint
): Refusal | undefined => {
  if (after.owner !== systemProgram || after.dataBytes > 0) {
    return refusal("fee_payer_changed", "the simulation changes the owner or the data of the relayer's account")
  }
  if (before.lamports - after.lamports > allowed) {
    const lost = before.lamports - after.lamports
    return refusal(
      "lamports_out",
      `the simulation takes ${lost} lamports from the relayer; at most ${allowed} are declared`
    )
  }
  for (const [address, { before, after }] of tokens) {
    const isKept = after === undefined ? closed.includes(address) : isSame(before, after)
    if (!isKept) {
      return refusal(
        "authority_changed",
        `the simulation changes the owner, the delegate or the close authority of token account ${address}`
      )
    }
  }
  return undefined
}
