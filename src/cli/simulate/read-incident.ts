/** Reads the events of an incident as a stream, because a log is larger than what is kept of it. */
import { createReadStream } from 'node:fs'
import { InvalidOptionError } from '../../core/errors/errors.ts'
import type { Incident } from '../../sim/incident/incident.ts'
import { type IncidentOptions, IncidentReader } from '../../sim/incident/reader.ts'
import { niceStep } from '../../text/format.ts'
import { CliError } from '../errors.ts'
import { fileError } from '../user-files.ts'
import { withFileContext } from '../user-modules.ts'

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
		throw signal.aborted ? signal.reason : fileError(file, error)
	}
	if (rest !== '') reader.add(rest)
	try {
		return withFileContext(file, '', () => reader.finish())
	} catch (error) {
		throw withFlagHint(error)
	}
}

/** The flags that set an option of the library. */
const FLAGS: Readonly<Record<string, string>> = { pipeline: '--pipeline', policy: '--from-policy' }

function withFlagHint(error: unknown): unknown {
	if (!(error instanceof CliError && error.cause instanceof InvalidOptionError)) return error
	const { kind, message, cause } = error
	const flag = FLAGS[error.cause.optionPath]
	return flag === undefined
		? error
		: new CliError(kind, message, { cause, hint: `Select one with ${flag} NAME.` })
}

/** Returns a round timeout, three times the p99 latency or more: it ends only hanging requests. */
export const suggestTimeout = ({ summary }: Incident): number =>
	niceStep(Math.max(100, 3 * summary.serviceTime.p99Ms))
