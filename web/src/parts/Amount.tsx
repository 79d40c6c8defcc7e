// An amount with its unit. The tooltip has the exact integer, which is also what is copied.
import { full, grouped, shown } from "../data/Amounts.ts"
import type { Unit } from "../data/Amounts.ts"

interface Props {
  readonly value: bigint
  readonly unit: Unit
  /** Shows every digit. */
  readonly isExact?: boolean
}

export const Amount = ({ value, unit, isExact = false }: Props) => (
  <span class="amount" title={`${grouped(value)} ${unit.smallest}`} data-exact={value.toString()}>
    {isExact ? full(value, unit) : shown(value, unit)}
  </span>
)
