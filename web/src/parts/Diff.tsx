// What a change changes: the values of fields before and after.
import type { Change } from "../data/FormFields.ts"
import { words } from "../words.ts"

const text = words.form

/** Only what changes, old and new. */
export const Diff = ({ changes }: { readonly changes: ReadonlyArray<Change> }) => (
  <div class="tblw">
    <table class="tbl diff">
      <thead>
        <tr>
          <th scope="col">{text.field}</th>
          <th scope="col">{text.before}</th>
          <th scope="col">{text.after}</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ name, before, after }) => (
          <tr key={name}>
            <td>
              <code>{name}</code>
            </td>
            <td>
              <del>{before === "" ? text.byDefault : before}</del>
            </td>
            <td>
              <ins>{after === "" ? text.byDefault : after}</ins>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
