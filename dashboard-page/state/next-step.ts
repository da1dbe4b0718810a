/** What to look at and what to press when something is wrong. */
import type { Overview, Problem } from '../../src/dashboard/contract.ts'
import { ENDPOINT_PATTERN } from '../../src/webhooks/endpoint-names.ts'
import type { ActionRequest } from './action.ts'
import type { View } from './url.ts'

interface Place {
	readonly view: View
	readonly filter: Readonly<Record<string, string | undefined>>
}

export function placeOf(problem: Problem): Place | undefined {
	const { source } = problem
	switch (problem.kind) {
		case 'circuit-open':
		case 'circuit-isolated':
		case 'circuit-half-open':
			return { view: 'calls', filter: { source, key: problem.key ?? undefined } }
		case 'calls-failing':
			return { view: 'calls', filter: { source } }
		case 'calls-rejected':
			return { view: 'calls', filter: { source, reason: problem.reason } }
		case 'destination-open':
		case 'destination-paused':
		case 'destination-retry-after':
		case 'messages-late':
			return {
				view: 'messages',
				filter: { outbox: source, destination: oneDestination(problem), status: 'pending' },
			}
		case 'no-relay':
			return { view: 'messages', filter: { outbox: source, status: 'pending' } }
		case 'dead-letters':
			return { view: 'dead', filter: { outbox: source, destination: oneDestination(problem) } }
		case 'endpoints-disabled':
			return { view: 'webhooks', filter: { webhooks: source, isEnabled: 'false' } }
		case 'endpoints-failing':
			return { view: 'webhooks', filter: { webhooks: source, isFailing: 'true' } }
		default:
			return undefined
	}
}

export function requestFor(problem: Problem, { circuits }: Overview): ActionRequest | undefined {
	const { source } = problem
	switch (problem.kind) {
		case 'circuit-open':
		case 'circuit-isolated': {
			const found = circuits.find(
				(row) => row.source === source && row.name === problem.circuit && row.key === problem.key,
			)
			if (!found) return undefined
			const base = { source, subject: source, target: found.id }
			if (problem.kind === 'circuit-open') return { ...base, action: 'reset' }
			return found.isIsolatedHere ? { ...base, action: 'release' } : undefined
		}
		case 'destination-open':
			return { action: 'close-circuit', source, subject: problem.destination, target: problem.destination }
		case 'destination-paused':
		case 'destination-retry-after':
			return { action: 'resume', source, subject: problem.destination, target: problem.destination }
		case 'dead-letters': {
			const destination = oneDestination(problem)
			if (destination === undefined) return undefined
			return { action: 'replay', source, subject: destination, selection: { destination } }
		}
		default:
			return undefined
	}
}

/** One problem names all endpoints of webhooks by their pattern, which selects no message. */
const oneDestination = ({ destination }: { readonly destination: string }): string | undefined =>
	destination === ENDPOINT_PATTERN ? undefined : destination
