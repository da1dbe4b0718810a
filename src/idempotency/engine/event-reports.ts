/** Emits the events of an engine. */

import { errorFacts } from '../../core/events/error-facts.ts'
import { Emitter, type EventDetails } from '../../core/observe/emitter.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { IdempotencyIdentity } from '../key/identity.ts'
import type { BeginResult } from './claim.ts'
import type {
	FencedEvent,
	IdempotencyEvent,
	IdempotencyListener,
	LateStoring,
	StoreOperation,
} from './events.ts'
import { SetupErrorReports } from './setup-errors.ts'

type WithoutRequest<Event> = Event extends unknown ? Omit<Event, 'method' | 'route'> : never

/** An event without the fields that are added here. */
type Details = WithoutRequest<EventDetails<IdempotencyEvent>>

export class EventReports {
	readonly emitter: Emitter<IdempotencyEvent>
	readonly #setupErrors: SetupErrorReports

	constructor(name: string, runtime: Runtime) {
		this.emitter = new Emitter(name, runtime)
		this.#setupErrors = new SetupErrorReports(name)
	}

	subscribe(listener: IdempotencyListener): () => void {
		return this.emitter.subscribe(listener)
	}

	begun(identity: IdempotencyIdentity, result: BeginResult): void {
		if (this.emitter.hasListeners) this.#emit(identity, detailsOf(result))
	}

	leaseLost(identity: IdempotencyIdentity): void {
		this.#emit(identity, { type: 'idempotency_lease_lost' })
	}

	fenced(identity: IdempotencyIdentity, operation: FencedEvent['operation']): void {
		this.#emit(identity, { type: 'idempotency_fenced', operation })
	}

	storeError(identity: IdempotencyIdentity, operation: StoreOperation, error: unknown): void {
		this.#setupErrors.add(error)
		if (this.emitter.hasListeners)
			this.#emit(identity, { type: 'idempotency_store_error', operation, ...errorFacts(error) })
	}

	storedLate(identity: IdempotencyIdentity, isStored: boolean, facts: LateStoring): void {
		const type = isStored ? 'idempotency_stored_late' : 'idempotency_response_lost'
		this.#emit(identity, { type, ...facts })
	}

	#emit({ method, route }: IdempotencyIdentity, details: Details): void {
		if (this.emitter.hasListeners) this.emitter.emit({ ...details, method, route })
	}
}

function detailsOf(result: BeginResult): Details {
	if (result.kind === 'run') return { type: 'idempotency_claimed', isRerun: result.claim.hasSteps }
	if (result.kind === 'replay') return { type: 'idempotency_replayed', statusCode: result.response.status }
	if (result.kind === 'conflict') return { type: 'idempotency_conflict', reason: result.reason }
	return { type: 'idempotency_mismatch' }
}
