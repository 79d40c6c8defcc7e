// Handles SIGHUP, which a closing terminal sends, like SIGTERM. Without a handler, Node would end at once and leave PostgreSQL running.
// This also applies under `nohup`, because Node resets signals that its parent ignores.

export const stopOnSighup = (): void => {
  process.on("SIGHUP", () => void process.emit("SIGTERM"))
}
