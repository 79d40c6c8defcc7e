// What an address shows that leads to no page.
import { words } from "../words.ts"

export const NotFoundPage = () => (
  <div class="hd">
    <div>
      <h1>{words.notFound.title}</h1>
      <div class="sub">{words.notFound.text}</div>
    </div>
  </div>
)
