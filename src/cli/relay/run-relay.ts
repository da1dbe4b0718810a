/**
 * The work of `yaoki relay`. Ctrl-C arrives as `io.signal`; SIGTERM, with which a supervisor stops a service,
 * is handled here because only a command that runs permanently has messages to finish. A second signal of the
 * same kind ends the process.
 */
import { httpDestination } from '../../outbox/destinations/http-destination.ts'
import { Relay } from '../../outbox/relay/relay.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import type { CommandResult } from '../command.ts'
import { removeSecrets } from '../database/database-errors.ts'
import type { CommandIo } from '../io.ts'
import { withOutbox } from '../outbox/open-outbox.ts'
import { parseDuration } from '../outbox/parse-time.ts'
import { parseDestinationUrl, type RelayArguments, readHeaders, relaySecrets } from './options.ts'
import { every, RelaySummary } from './summary.ts'

const REPORT_INTERVAL_MS = 5000
/** The limits of the relay's own options, so that messages name the flag. */
const MIN_LEASE_MS = 50
const MIN_TIMEOUT_MS = 1

export async function runRelay(args: RelayArguments, io: CommandIo): CommandResult {
	const url = parseDestinationUrl(args.to ?? (io.env['YAOKI_TO'] || undefined))
	const headers = readHeaders(args, io)
	const secrets = relaySecrets(url, headers)
	const timeoutMs = parseDuration('--timeout', args.timeout, MIN_TIMEOUT_MS)
	const leaseMs = parseDuration('--lease', args.lease, MIN_LEASE_MS)
	const destination = httpDestination({ url, headers })
	const names = args.destination.length === 0 ? ['*'] : args.destination
	return withOutbox(args, io, async ({ outbox, target }) => {
		const summary = new RelaySummary()
		const note = (text: string | undefined) => {
			if (text !== undefined) io.note(sanitizeLine(removeSecrets(text, target, secrets)))
		}
		const relay = new Relay(outbox, {
			name: 'yaoki-relay',
			maxConcurrent: args.maxConcurrent,
			leaseMs,
			timeoutMs,
			runtime: io.runtime,
			destinations: Object.fromEntries(names.map((name) => [name, destination])),
			onEvent: (event) => note(summary.add(event)),
		})
		const stop = stopRequests(io.signal)
		await relay.start()
		const which = args.destination.length === 0 ? 'all messages' : `messages for ${names.join(', ')}`
		note(`Sending ${which} of ${target.name} to ${url.origin}. Press Ctrl-C to stop.`)
		const cancelReports = every(io.runtime, REPORT_INTERVAL_MS, () => note(summary.takeLine()))
		try {
			await stop.requested
			io.note('Stopping: messages in flight are finished first.')
			await Promise.race([relay.stop(), stop.requestedAgain.then(() => relay.stop({ timeoutMs: 0 }))])
		} finally {
			cancelReports()
			stop.unlisten()
			await relay.stop({ timeoutMs: 0 })
		}
		io.result(summary.totals, summary.text())
	})
}

/** Listens to Ctrl-C and SIGTERM, each once: after that the system's default ends the process. */
function stopRequests(signal: AbortSignal) {
	const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
	const pending = [first, second]
	const request = () => pending.shift()?.resolve()
	const interrupted = () => {
		process.off('SIGTERM', request)
		request()
	}
	process.once('SIGTERM', request)
	signal.addEventListener('abort', interrupted, { once: true })
	if (signal.aborted) interrupted()
	return {
		requested: first.promise,
		requestedAgain: second.promise,
		unlisten() {
			process.off('SIGTERM', request)
			signal.removeEventListener('abort', interrupted)
		},
	}
}
