/**
 * The work of `yaoki relay`. Ctrl-C is told by the frame; SIGTERM, by which a supervisor stops a service, is listened to here, for only
 * a command that runs for good has something to finish. A second one of either kind ends it at once.
 */
import { httpDestination, Relay } from '../../outbox/index.ts'
import type { ExitKind } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { withOutbox } from '../outbox/open.ts'
import type { AskedDatabase } from '../outbox/target.ts'
import { readDuration } from '../outbox/times.ts'
import { withoutSecrets } from '../outbox/trouble.ts'
import { readHeaders, readReceiver } from './receiver-options.ts'
import { Summary } from './summary.ts'

const TELL_EVERY_MS = 5000
/** The relay's own limits; here they are told by what was typed. */
const LEAST_LEASE_MS = 50
const LEAST_TIMEOUT_MS = 1

export interface AskedRelay extends AskedDatabase {
	readonly to: string | undefined
	readonly destination: readonly string[]
	readonly header: readonly string[]
	readonly concurrency: number
	readonly timeout: string
	readonly lease: string
	readonly keepHistory: boolean
}

export async function runRelay(asked: AskedRelay, io: CommandIo): Promise<ExitKind> {
	const url = readReceiver(asked.to)
	const headers = readHeaders(asked.header)
	const timeoutMs = readDuration('--timeout', asked.timeout, LEAST_TIMEOUT_MS)
	const leaseMs = readDuration('--lease', asked.lease, LEAST_LEASE_MS)
	const receiver = httpDestination({ url, headers })
	const names = asked.destination.length === 0 ? ['*'] : asked.destination
	const { concurrency, keepHistory } = asked
	return withOutbox(
		asked,
		io,
		async ({ outbox, target }) => {
			const summary = new Summary()
			const relay = new Relay(outbox, {
				...{ name: 'yaoki-relay', concurrency, leaseMs, timeoutMs, runtime: io.runtime },
				destinations: Object.fromEntries(names.map((name) => [name, receiver])),
				onEvent: (event) => {
					const news = summary.add(event)
					if (news !== undefined) io.note(withoutSecrets(news, target))
				},
			})
			const stop = stopping(io.signal)
			await relay.start()
			const which = asked.destination.length === 0 ? 'every message' : `messages for ${names.join(', ')}`
			io.note(`Sending ${which} of ${target.name} to ${url.origin}${url.pathname}. Ctrl-C stops it.`)
			const silence = regularly(io, () => {
				const line = summary.line()
				if (line !== undefined) io.note(line)
			})
			try {
				await stop.asked
				io.note('Stopping: what is under way is finished first.')
				await Promise.race([relay.stop(), stop.askedAgain.then(() => relay.stop({ timeoutMs: 0 }))])
			} finally {
				silence()
				stop.forget()
				await relay.stop({ timeoutMs: 0 })
			}
			io.result(summary.totals, summary.text())
			return 'ok' as const
		},
		{ keepHistory },
	)
}

interface Stopping {
	readonly asked: Promise<void>
	readonly askedAgain: Promise<void>
	forget(): void
}

/** Ctrl-C, or SIGTERM. Each is heard once, and then left to the system, which ends the process. */
function stopping(signal: AbortSignal): Stopping {
	let isAsked = () => {}
	let isAskedAgain = () => {}
	const asked = new Promise<void>((resolve) => {
		isAsked = resolve
	})
	const askedAgain = new Promise<void>((resolve) => {
		isAskedAgain = resolve
	})
	let times = 0
	const hear = () => {
		times += 1
		if (times === 1) isAsked()
		else isAskedAgain()
	}
	const interrupted = () => {
		process.off('SIGTERM', hear)
		hear()
	}
	process.once('SIGTERM', hear)
	signal.addEventListener('abort', interrupted, { once: true })
	if (signal.aborted) interrupted()
	return {
		asked,
		askedAgain,
		forget() {
			process.off('SIGTERM', hear)
			signal.removeEventListener('abort', interrupted)
		},
	}
}

function regularly({ runtime }: CommandIo, tell: () => void): () => void {
	let cancel = () => {}
	const again = () => {
		cancel = runtime.setTimer(TELL_EVERY_MS, () => {
			tell()
			again()
		})
	}
	again()
	return () => cancel()
}
