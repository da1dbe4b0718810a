/**
 * Evidence of lost leases, recorded by the database itself. A trigger writes a row whenever a claim takes over a message that another claim
 * still holds, in the transaction of that claim. Events of the relay are not enough: a killed relay reports nothing.
 */

/** A claim that lost its message: its lease expired before its ack. Times are the database's, in milliseconds. */
export interface Takeover {
	readonly id: string
	/** The attempt whose lease expired. */
	readonly attempt: number
	readonly leaseUntil: number
	/** When the next claim took the message. */
	readonly claimedAt: number
}

/** A claim is the only update that increases `attempts`; an ack, a retry and a release clear `locked_by`. */
const IS_TAKEOVER = 'new.attempts > old.attempts and old.locked_by is not null'

export const recordTakeoversInPostgres = (schema: string): string => `
create table if not exists ${schema}.takeovers (id text, attempt int, lease_until bigint, claimed_at bigint);
create index if not exists takeovers_id on ${schema}.takeovers (id);
create or replace function ${schema}.record_takeover() returns trigger language plpgsql as $$ begin
	insert into ${schema}.takeovers values (old.id, old.attempts, old.lease_until, new.locked_at);
	return null;
end $$;
create or replace trigger takeover after update on ${schema}.outbox
	for each row when (${IS_TAKEOVER}) execute function ${schema}.record_takeover();`

export const RECORD_TAKEOVERS_IN_SQLITE = `
create table if not exists takeovers (id text, attempt int, lease_until int, claimed_at int);
create index if not exists takeovers_id on takeovers (id);
create trigger if not exists takeover after update on yaoki_outbox when ${IS_TAKEOVER} begin
	insert into takeovers values (old.id, old.attempts, old.lease_until, new.locked_at);
end;`

export const TAKEOVER_COLUMNS = 'id, attempt, lease_until as "leaseUntil", claimed_at as "claimedAt"'

/** Drivers return 64-bit columns as text. */
export const toTakeover = (row: Readonly<Record<string, unknown>>): Takeover => ({
	id: String(row['id']),
	attempt: Number(row['attempt']),
	leaseUntil: Number(row['leaseUntil']),
	claimedAt: Number(row['claimedAt']),
})
