import { formatDuration, formatNumber, formatSignificant } from '../../text/format.ts'
import type { Count } from '../contract.ts'
import { formatSeconds } from './format-seconds.ts'
import { circuitName } from './sentence.ts'
import type { Words } from './words.ts'

const count = ({ count, isCapped }: Count): string => `${formatNumber(count)}${isCapped ? '+' : ''}`
const counted = (value: Count, noun: string): string =>
	`${count(value)} ${noun}${value.count === 1 && !value.isCapped ? '' : 's'}`
const wait = (value: Count): string =>
	`${counted(value, 'message')} ${value.count === 1 && !value.isCapped ? 'waits' : 'wait'}`
const calls = (rate: number): string => `${formatSignificant(rate)} calls/s`
const duration = (ms: number): string => formatDuration(ms)
/** For sentences, which need no milliseconds. */
const span = (ms: number): string => (ms < 1_000 ? formatSeconds(ms) : duration(ms))
const since = (ms: number | null): string => (ms === null ? '' : ` for ${span(ms)}`)
const rejected = (rate: number): string => (rate > 0 ? `, ${calls(rate)} rejected` : '')
const lastError = (error: string | null): string => (error === null ? '' : `; last error ${error}`)
const nextProbe = (ms: number | null): string => (ms === null ? '' : `; next probe in ${span(ms)}`)
const ends = (ms: number | null): string => (ms === null ? '; no end is set' : `; ends in ${span(ms)}`)
const by = (name: string | null): string => (name === null ? '' : ` by ${name}`)
const because = (reason: string | null): string => (reason === null ? '' : ` (${reason})`)
const circuit = (problem: Parameters<typeof circuitName>[0]): string =>
	['circuit', circuitName(problem)].filter((part) => part !== '').join(' ')

/** English. */
export const en: Words = {
	language: 'en',
	duration,
	exactDuration: formatSeconds,
	measured: (ms) => formatDuration(ms, 2),
	count,
	messages: (value) => counted(value, 'message'),
	callsPerSecond: calls,
	inTime: (ms) => `in ${duration(ms)}`,
	ago: (ms) => (ms < 1_000 ? 'just now' : `${duration(ms)} ago`),
	problems: {
		'circuit-open': (p) =>
			`${circuit(p)} open${since(p.sinceMs)}${rejected(p.rejectedPerSecond)}${lastError(p.lastError)}`,
		'circuit-isolated': (p) =>
			`${circuit(p)} isolated${since(p.sinceMs)}${rejected(p.rejectedPerSecond)}${lastError(p.lastError)}`,
		'circuit-half-open': (p) =>
			`${circuit(p)} half-open${since(p.sinceMs)}, only probes pass${rejected(p.rejectedPerSecond)}${lastError(p.lastError)}`,
		'calls-failing': (p) =>
			`${calls(p.failuresPerSecond)} failing${since(p.sinceMs)}${lastError(p.lastError)}`,
		'calls-rejected': (p) => `${calls(p.rejectedPerSecond)} rejected${since(p.sinceMs)} (${p.reason})`,
		'destination-open': (p) =>
			`destination ${p.destination}: circuit open${since(p.sinceMs)}, ${wait(p.due)}${nextProbe(p.endsInMs)}`,
		'destination-paused': (p) =>
			`destination ${p.destination} paused${by(p.by)}${since(p.sinceMs)}${because(p.reason)}, ${wait(p.due)}${ends(p.endsInMs)}`,
		'destination-retry-after': (p) =>
			`destination ${p.destination} asked for a pause (Retry-After)${since(p.sinceMs)}, ${wait(p.due)}${ends(p.endsInMs)}`,
		'messages-late': (p) =>
			`messages to ${p.destination} are ${duration(p.lagMs)} late, ${counted(p.due, 'message')} due`,
		'no-relay': (p) =>
			`no running relay serves ${counted(p.due, 'due message')}${p.sinceMs === null ? '' : `,${since(p.sinceMs)}`}`,
		'relay-ended': (p) =>
			`relay ${p.relay} ended without a shutdown${p.sinceMs === null ? '' : ` ${duration(p.sinceMs)} ago`}`,
		'dead-letters': (p) => `${counted(p.dead, 'dead letter')} to ${p.destination}`,
		'endpoints-disabled': (p) =>
			`${counted({ count: p.endpoints, isCapped: false }, 'endpoint')} disabled after failures`,
		'endpoints-failing': (p) =>
			`${counted({ count: p.endpoints, isCapped: false }, 'endpoint')} failing${since(p.sinceMs)}`,
		'clock-behind': (p) => `the clock of the database was set back by ${duration(p.behindMs)}`,
		unreadable: (p) => `the state cannot be read${since(p.sinceMs)}: ${p.error}`,
	},
	advice: {
		'circuit-open': 'Fix the dependency. The circuit closes by itself when a probe succeeds.',
		'circuit-isolated': 'Release the circuit when the dependency may be called again.',
		'circuit-half-open': 'Wait: the circuit closes if the probes succeed.',
		'calls-failing': 'Read the explanation of a failed call.',
		'calls-rejected': 'Compare the limit with the load.',
		'destination-open': 'Fix the receiver. Messages are kept, and sent after a successful probe.',
		'destination-paused': 'Resume the destination when it may receive messages again.',
		'destination-retry-after': 'Wait: the receiver has asked for it. Messages are kept.',
		'messages-late': 'Add relays, or raise the concurrency of the destination.',
		'no-relay': 'Start a relay that serves their destinations. Messages are kept until then.',
		'relay-ended': 'Check why the process ended. Other relays send its messages after the lease.',
		'dead-letters': 'Fix the cause, then replay them, with a canary first.',
		'endpoints-disabled': 'Ask the customer, then enable the endpoint and send again what it missed.',
		'endpoints-failing': 'Ask the customer. The endpoint is disabled if it keeps failing.',
		'clock-behind': 'Synchronize the clock of the database server.',
		unreadable: 'Check that the database answers.',
	},
	nothingWrong: 'Nothing is wrong: circuits are closed and messages are delivered.',
	problemCount: (errors, warnings) =>
		[
			errors > 0 ? counted({ count: errors, isCapped: false }, 'error') : '',
			warnings > 0 ? counted({ count: warnings, isCapped: false }, 'warning') : '',
		]
			.filter((part) => part !== '')
			.join(', '),
	severities: { error: 'Error', warning: 'Warning' },
	circuitStates: { closed: 'closed', open: 'open', 'half-open': 'half-open', isolated: 'isolated' },
	shadow: 'shadow mode',
	limits: {
		bulkhead: 'bulkhead',
		'rate-limiter': 'rate limiter',
		budget: 'retry budget',
		throttle: 'adaptive throttle',
	},
	pauses: { operator: 'paused', 'retry-after': 'Retry-After', circuit: 'circuit open' },
	statuses: {
		pending: 'pending',
		'in-flight': 'in flight',
		dead: 'dead',
		sent: 'sent',
		discarded: 'discarded',
	},
	jobStates: {
		canary: 'canary in flight',
		running: 'running',
		done: 'done',
		cancelled: 'cancelled',
		failed: 'failed',
	},
	processLine: (host, pid) => `process ${pid} on ${host}`,
}
