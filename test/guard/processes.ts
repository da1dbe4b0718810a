import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Returns the ids of the processes that work in this folder or name it in their arguments, on Linux. */
export function processesOf(folder: string): readonly number[] {
	const ids = readdirSync('/proc').map(Number).filter(Number.isInteger)
	return ids.filter(
		(id) => id !== process.pid && `${read(id, 'cwd')} ${read(id, 'cmdline')}`.includes(folder),
	)
}

/** A process that has ended meanwhile has neither; nor has a zombie. */
function read(id: number, name: 'cwd' | 'cmdline'): string {
	const path = `/proc/${id}/${name}`
	try {
		return name === 'cwd' ? readlinkSync(path) : readFileSync(path, 'utf8')
	} catch {
		return ''
	}
}

/** True if a process runs. A zombie does not. */
export const isRunning = (id: number): boolean => read(id, 'cmdline') !== ''
