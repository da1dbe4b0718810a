import type { ResilientHttpClient } from 'yaoki/http'
import type { IdempotencyEngine } from 'yaoki/idempotency'
import { note } from '../service.ts'

export function noteCircuits(client: ResilientHttpClient): void {
	client.subscribe((event) => {
		if (event.type === 'state_change') note(`circuit of ${event.key}: ${event.from} -> ${event.to}`)
	})
}

export function noteStore<Tx>(engine: IdempotencyEngine<Tx>): void {
	engine.subscribe((event) => {
		if (event.type === 'idempotency_store_error')
			note(`store of keys: ${event.operation} failed: ${event.errorMessage}`)
	})
}
