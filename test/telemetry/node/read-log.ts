import { existsSync, readFileSync } from 'node:fs'

export type LoggedLine = Readonly<Record<string, unknown>>

/** Returns the texts of the files of an event log, the oldest first. */
export function readFiles(path: string): readonly string[] {
	const names = [path]
	for (let number = 1; existsSync(`${path}.${number}`); number++) names.unshift(`${path}.${number}`)
	return names.filter((name) => existsSync(name)).map((name) => readFileSync(name, 'utf8'))
}

/** Returns the lines of all files that are JSON, the oldest first. */
export function readLines(path: string): readonly LoggedLine[] {
	return readFiles(path)
		.flatMap((text) => text.split('\n'))
		.flatMap((line) => {
			try {
				return [JSON.parse(line) as LoggedLine]
			} catch {
				return []
			}
		})
}

/** Returns the numbers of the events of a test, the oldest first. */
export const readNumbers = (path: string): readonly unknown[] =>
	readLines(path)
		.filter(({ type }) => type !== 'telemetry_events_dropped')
		.map(({ number }) => number)
