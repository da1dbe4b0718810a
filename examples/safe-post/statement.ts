/** Prints each charge of the bank, and how often the bank was asked for it. */
import { pool } from './database.ts'

const { rows } = await pool.query('SELECT order_id, cents, requests FROM bank_charges ORDER BY order_id')
console.table(rows)
await pool.end()
