/** Reads the events of an incident from a file, as a stream: a log is larger than what is kept of it. */
import { createReadStream } from 'node:fs'
import type { Incident } from '../../sim/incident/incident.ts'
import type { IncidentOptions } from '../../sim/incident/options.ts'
import { IncidentReader } from '../../sim/incident/reader.ts'
import { CliError } from '../errors.ts'
import { unreadable } from './load-file.ts'
import { toldOf } from './told.ts'

export { formatIncident } from '../../sim/incident/summary.ts'

export async function readIncident(
	file: string,
	options: IncidentOptions,
	signal: AbortSignal,
): Promise<Incident> {
	const reader = new IncidentReader(options)
	let rest = ''
	try {
		for await (const chunk of createReadStream(file, { encoding: 'utf8', signal })) {
			const lines = `${rest}${chunk}`.split('\n')
			rest = lines.pop() ?? ''
			for (const line of lines) reader.add(line)
		}
	} catch (error) {
		throw signal.aborted ? signal.reason : unreadable(file, error)
	}
	if (rest !== '') reader.add(rest)
	try {
		return toldOf(file, '', () => reader.finish())
	} catch (error) {
		throw withHint(error)
	}
}

/** The names of options in the library are not those of the command line. */
function withHint(error: unknown): unknown {
	if (!(error instanceof CliError)) return error
	const hint = /: pipeline: /.test(error.message)
		? '--pipeline NAME says which.'
		: /: policy: /.test(error.message)
			? '--told-by NAME says which.'
			: undefined
	return new CliError(error.kind, error.message, { cause: error.cause, hint })
}

/** Several times what nearly all answers took, so that it ends those that hang and no others; a round number. */
export function timeoutFor({ summary }: Incident): number {
	const least = Math.max(100, 3 * summary.serviceTime.p99Ms)
	const ten = 10 ** Math.floor(Math.log10(least))
	return [1, 2, 5, 10].map((factor) => factor * ten).find((ms) => ms >= least) ?? least
}
