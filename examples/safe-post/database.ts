/** The connection to PostgreSQL that all programs of this folder use. */
import { Pool } from 'pg'

const { DATABASE_URL } = process.env
if (!DATABASE_URL) throw new Error('Set DATABASE_URL in this terminal.')

export const pool: Pool = new Pool({ connectionString: DATABASE_URL })
// A connection can break while it is idle. Without a listener that would end the process.
pool.on('error', (error) => console.error(`PostgreSQL: ${error.message}`))
