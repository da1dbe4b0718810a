/**
 * The main module of a relay process, which the demo can kill. It ends when the parent stops it or is gone,
 * so a demo that was killed leaves no process behind. Ctrl-C and SIGHUP reach all processes of a terminal and
 * are handled by the parent.
 */
import { runDemoRelay } from './demo-relay.ts'
import type { FromRelay, ToRelay } from './relay-process.ts'

const send = (message: FromRelay): void => void process.send?.(message)
const exitWithoutParent = () => process.exit(1)

for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
process.on('disconnect', exitWithoutParent)

const stopped = Promise.withResolvers<void>()
process.on('message', async (message: ToRelay) => {
	if (message.type === 'stop') return stopped.resolve()
	try {
		await runDemoRelay(message, send, stopped.promise)
	} catch (error) {
		send({ type: 'failed', message: error instanceof Error ? error.message : String(error) })
		process.exitCode = 1
	}
	process.off('disconnect', exitWithoutParent)
	process.disconnect()
})
