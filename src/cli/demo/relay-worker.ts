/**
 * One relay of the demo, in a process of its own, so that it can be killed. It ends when it is told to, and when its parent is gone:
 * a demo that was killed itself leaves no process behind. Ctrl-C, or a window that is closed, reaches all processes of a terminal, and is
 * the parent's to answer.
 */
import { demoRelay } from './demo-relay.ts'
import type { Order, Word } from './relay-protocol.ts'

const tell = (word: Word): void => void process.send?.(word)
const orphaned = () => process.exit(1)

for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
process.on('disconnect', orphaned)

let stop = () => {}
const stopped = new Promise<void>((resolve) => {
	stop = resolve
})
process.on('message', async (order: Order) => {
	if (order.type === 'stop') return stop()
	try {
		await demoRelay(order, tell, stopped)
	} catch (error) {
		tell({ type: 'failed', message: error instanceof Error ? error.message : String(error) })
		process.exitCode = 1
	}
	process.off('disconnect', orphaned)
	process.disconnect()
})
