// Instructions that spend from the relayer itself. Each has a fixed shape: the program, the exact accounts in their order,
// and the exact length of the data. The relayer stands at the named places and nowhere else.
import type { Instruction, Refusal } from "./Instruction.ts"
import * as LittleEndian from "./LittleEndian.ts"
import * as Programs from "./Programs.ts"
import { isRefusal, notAllowed, nothing } from "./Spending.ts"
import type { Authority, Receiver, Shape, Spending } from "./Spending.ts"
import { systemShapes } from "./SystemShapes.ts"
import { associatedShapes, tokenShapes } from "./TokenShapes.ts"

const isText = (data: Uint8Array): boolean => {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(data)
    return true
  } catch {
    return false
  }
}

const memo: Shape = ({ accounts, data }, { relayer }) =>
  isText(data) && accounts.filter((account) => account === relayer).length === 1 ? nothing : undefined

const shapes: Readonly<Record<string, ReadonlyArray<Shape>>> = {
  [Programs.systemProgram]: systemShapes,
  [Programs.tokenProgram]: tokenShapes,
  [Programs.token2022Program]: tokenShapes,
  [Programs.associatedTokenProgram]: associatedShapes,
  [Programs.memoProgram]: [memo],
  [Programs.memo4Program]: [memo]
}

/** Instructions that give away what the relayer has authority over, by their first four bytes. */
const never: Readonly<Record<string, ReadonlyArray<number>>> = {
  // Upgrade, SetAuthority, Close, SetAuthorityChecked
  [Programs.loaderProgram]: [3, 4, 5, 7],
  // Authorize, Withdraw, AuthorizeWithSeed, AuthorizeChecked, AuthorizeCheckedWithSeed
  [Programs.stakeProgram]: [1, 4, 8, 10, 11],
  // Authorize, Withdraw, AuthorizeChecked, AuthorizeWithSeed, AuthorizeCheckedWithSeed
  [Programs.voteProgram]: [1, 3, 7, 10, 11]
}

/** A program that the policy vouches for may do what it wants, except what the list `never` has. */
const vouched = ({ program, data }: Instruction): Spending | Refusal => {
  const kind = LittleEndian.u32(data, 0)
  return kind !== undefined && (never[program] ?? []).includes(kind)
    ? notAllowed(`instruction ${kind} of program ${program} gives away the relayer's authority`)
    : { ...nothing, receivers: [{ address: program }] }
}

const spendingOf = (instruction: Instruction, authority: Authority): Spending | Refusal => {
  const { program, accounts } = instruction
  if (!accounts.includes(authority.relayer)) return nothing
  for (const shape of shapes[program] ?? []) {
    const spending = shape(instruction, authority)
    if (spending !== undefined) return spending
  }
  if (!Programs.shapedPrograms.has(program) && authority.programs.includes(program)) return vouched(instruction)
  return notAllowed(
    Programs.shapedPrograms.has(program)
      ? `an instruction of program ${program} lists the relayer in a form that does not only spend from it`
      : `an instruction of program ${program} lists the relayer; only programs of authority_programs may`
  )
}

/** What the instructions, each with its number in the request, spend from the relayer together, or the first one that may not list it. */
export const ownSpending = (
  instructions: ReadonlyArray<readonly [number: number, Instruction]>,
  authority: Authority
): Spending | Refusal => {
  let [out, spent] = [0n, 0n]
  const receivers: Array<Receiver> = []
  for (const [number, instruction] of instructions) {
    const spending = spendingOf(instruction, authority)
    if (isRefusal(spending)) return { ...spending, message: `instruction ${number}: ${spending.message}` }
    out += spending.out
    spent += spending.spent
    receivers.push(...spending.receivers)
  }
  return { out, spent, receivers }
}
