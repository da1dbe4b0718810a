/** The five questions of an operator, in PromQL, for the dashboard and the alert rules. */
import { ENDPOINT_PATTERN } from '../../webhooks/endpoint-names.ts'
import { growth, increase, rate, type Scope, type Selection } from './promql.ts'

const CALLS = { metric: 'yaoki_calls_total' }
const RETRIES = { metric: 'yaoki_retries_total' }
const RETRIED = { metric: 'yaoki_retried_calls_total' }
const SUCCEEDED = { ...RETRIED, where: { result: 'success' } }

/** Counted separately, so that an alert can require a number of calls, and a panel can sum both. */
export interface Share {
	readonly part: string
	readonly whole: string
}

/** Calls without a result for their caller. A fallback is a result. */
const FAILED_CALLS = { ...CALLS, where: { outcome: 'failure|rejected' } }

/** Error rate: calls that failed or were rejected, of all calls. */
export const failedCalls = (scope: Scope): Share => ({
	part: increase(FAILED_CALLS, scope),
	whole: increase(CALLS, scope),
})

/** The error rate over hours and days. Our `increase` would read twice as many samples. */
export const failureRates = (scope: Scope): Share => ({
	part: rate(FAILED_CALLS, scope),
	whole: rate(CALLS, scope),
})

/** Retry rate: calls with at least one retry, of all calls. */
export const retriedCalls = (scope: Scope): Share => ({
	part: increase(RETRIED, scope),
	whole: increase(CALLS, scope),
})

/** Retry success rate: calls that succeeded, of those with at least one retry. */
export const rescuedCalls = (scope: Scope): Share => ({
	// A service whose retries all fail has no series for success, and must be 0 instead of missing.
	part: `(${increase(SUCCEEDED, scope)} or 0 * ${increase(RETRIED, scope)})`,
	whole: increase(RETRIED, scope),
})

/** Mean number of retries per call. */
export const retriesPerCall = (scope: Scope): Share => ({
	part: increase(RETRIES, scope),
	whole: increase(CALLS, scope),
})

const TRANSITIONS = { metric: 'yaoki_circuit_breaker_transitions_total' }
/** Among thousands of endpoints some are always down, so webhooks have questions of their own. */
export const NO_ENDPOINTS: Readonly<Record<string, string>> = { destination: ENDPOINT_PATTERN }

const DESTINATION_TRANSITIONS = {
	metric: 'yaoki_relay_transitions_total',
	by: ['destination'],
	whereNot: NO_ENDPOINTS,
}

/** A way to count events: `increase`, or `eventsInStep` for bars. */
export type EventCount = (selection: Selection, scope: Scope) => string

/** The number of times that circuits of policies and clients opened. */
export const circuitsOpened = (scope: Scope, count: EventCount = increase): string =>
	count({ ...TRANSITIONS, where: { to: 'open' } }, scope)

/** The number of times that failed probes opened these circuits again, from half-open. */
export const circuitsReopened = (scope: Scope, count: EventCount = increase): string =>
	count({ ...TRANSITIONS, where: { from: 'half-open', to: 'open' } }, scope)

/** Calls that open circuits rejected. An open circuit without calls stays open, and affects no call. */
export const circuitRejections = (scope: Scope): string =>
	increase({ metric: 'yaoki_rejected_calls_total', where: { reason: 'circuit-open' } }, scope)

/** The number of times that the shared circuits of destinations opened. */
export const destinationsOpened = (scope: Scope, count: EventCount = increase): string =>
	count({ ...DESTINATION_TRANSITIONS, where: { to: 'open' } }, scope)

/** The number of times that failed probes opened the shared circuits of destinations again. */
export const destinationsReopened = (scope: Scope, count: EventCount = increase): string =>
	count({ ...DESTINATION_TRANSITIONS, where: { from: 'half-open', to: 'open' } }, scope)

type Labels = Pick<Selection, 'where' | 'whereNot'>

/** Messages that became dead letters, by destination and cause. */
export const deadLetters = (scope: Scope, count: EventCount = increase, labels: Labels = {}): string =>
	count({ metric: 'yaoki_relay_dead_letters_total', by: ['destination', 'cause'], ...labels }, scope)

/** The growth of the store's dead letters: a process may end before its counters are scraped. */
export const storedDeadLetters = (scope: Scope, labels: Labels = {}): string =>
	growth(
		{ metric: 'yaoki_outbox_dead_letters', by: ['destination'], ...labels },
		{ metric: 'yaoki_outbox_relays' },
		scope,
	)

const DISABLED = { by: ['reason'], where: { reason: 'failing|gone' } }

/** The number of times that endpoints of webhooks were disabled because of their failures. */
export const endpointsDisabled = (scope: Scope, count: EventCount = increase): string =>
	count({ metric: 'yaoki_webhook_endpoints_disabled_total', ...DISABLED }, scope)

/** The growth of the store's number of these endpoints: a process may end before its counters are scraped. */
export const storedDisabledEndpoints = (scope: Scope): string =>
	growth(
		{ metric: 'yaoki_webhook_disabled_endpoints', ...DISABLED },
		{ metric: 'yaoki_webhook_enabled_endpoints' },
		scope,
	)
