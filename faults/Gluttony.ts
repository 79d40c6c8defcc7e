// Loaded before the service: on SIGUSR2, a process takes memory until V8 finds no more, and ends it.
const taken: Array<ReadonlyArray<number>> = []

process.on("SIGUSR2", () => {
  while (true) taken.push(Array.from({ length: 100_000 }, () => taken.length))
})
