// A sentence of the service or of the contract, which marks names of fields, values and requests by backticks.

export const Marked = ({ text }: { readonly text: string }) =>
  text.split("`").map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>))
