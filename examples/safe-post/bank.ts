/** Stands for the API of a payment provider. As a provider does, it charges a card once per idempotency key. */
import { pool } from './database.ts'

export async function chargeCard(order: string, cents: number, idempotencyKey: string): Promise<string> {
	await pool.query(
		`INSERT INTO bank_charges (idempotency_key, order_id, cents) VALUES ($1, $2, $3)
		ON CONFLICT (idempotency_key) DO UPDATE SET requests = bank_charges.requests + 1`,
		[idempotencyKey, order, cents],
	)
	return `receipt of ${order}`
}
