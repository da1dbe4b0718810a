/** A reporter that prints the CPU time of a run with all its workers and servers, which on a busy machine says more than the duration. */
import { readFileSync } from 'node:fs'
import type { Reporter } from 'vitest/node'

export default class CpuTime implements Reporter {
	onInit(): void {
		// At the exit, when all workers have ended: the system adds the times of a process to its parent when it ends.
		process.once('exit', () => {
			const seconds = cpuSeconds()
			if (seconds !== undefined) process.stdout.write(`   CPU time  ${seconds.toFixed(0)}s\n\n`)
		})
	}
}

/** Linux counts in hundredths of a second, whatever its own clock does. */
const TICKS_PER_SECOND = 100

/** Of this process and all its children that have ended. Undefined where the system does not tell. */
function cpuSeconds(): number | undefined {
	let stat: string
	try {
		stat = readFileSync('/proc/self/stat', 'utf8')
	} catch {
		return undefined
	}
	// After the name, which may contain spaces: user and system time of this process, then of its children.
	const ticks = stat
		.slice(stat.lastIndexOf(')') + 2)
		.split(' ')
		.slice(11, 15)
	return ticks.reduce((sum, tick) => sum + Number(tick), 0) / TICKS_PER_SECOND
}
