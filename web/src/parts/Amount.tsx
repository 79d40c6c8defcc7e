// An amount with its unit. The tooltip has the exact integer, which is also what is copied.
import { grouped, shown } from "../data/Amounts.ts"
import type { Unit } from "../data/Amounts.ts"

export const Amount = ({ value, unit }: { readonly value: bigint; readonly unit: Unit }) => (
  <span class="amount" title={`${grouped(value)} ${unit.smallest}`} data-exact={value.toString()}>
    {shown(value, unit)}
  </span>
)
