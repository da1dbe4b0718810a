/** Idempotency engines, inboxes and webhooks: a few figures each. */
import type { JSX } from 'preact'
import { formatNumber } from '../../src/text/format.ts'
import { useShared } from '../context.ts'
import { Duration, Growing, Link, Outside, Section, Tile } from '../parts/bits.tsx'

export function OtherSections(): JSX.Element {
	const { t, overview } = useShared()
	return (
		<>
			{overview.idempotency.map((row) => (
				<Section
					key={row.source}
					title={
						<>
							{t.idempotency}: <Outside text={row.source} />
						</>
					}
				>
					<dl class="tiles">
						<Tile label={t.replays}>{formatNumber(row.replays)}</Tile>
						<Tile label={t.conflicts}>{formatNumber(row.conflicts)}</Tile>
						<Tile label={t.abandoned} tone={row.abandoned > 0 ? 'warn' : undefined}>
							{formatNumber(row.abandoned)}
						</Tile>
						{Object.entries(row.figures).map(([name, value]) => (
							<Tile key={name} label={t.figures[name] ?? name}>
								{formatNumber(value)}
							</Tile>
						))}
					</dl>
				</Section>
			))}
			{overview.inboxes.map((row) => (
				<Section
					key={row.source}
					title={
						<>
							{t.inboxes}: <Outside text={row.source} />
						</>
					}
				>
					<dl class="tiles">
						<Tile label={t.marks}>{t.words.count(row.marks)}</Tile>
						<Tile label={t.expiredMarks}>{t.words.count(row.expired)}</Tile>
						<Tile label={t.oldest}>
							<Duration ms={row.oldestAgeMs} />
						</Tile>
					</dl>
				</Section>
			))}
			{overview.webhooks.map((row) => (
				<Section
					key={row.source}
					title={
						<>
							{t.webhooks}: <Outside text={row.source} />
						</>
					}
				>
					<dl class="tiles">
						<Tile label={t.enabled}>
							<Link view="webhooks" filter={{ webhooks: row.source, isEnabled: 'true' }}>
								{formatNumber(row.enabled)}
							</Link>
						</Tile>
						<Tile label={t.failing} tone={row.failing > 0 ? 'warn' : undefined}>
							<Link view="webhooks" filter={{ webhooks: row.source, isFailing: 'true' }}>
								{formatNumber(row.failing)}
							</Link>
						</Tile>
						{Object.entries(row.disabled).map(([reason, count]) => (
							<Tile
								key={reason}
								label={`${t.disabled}: ${t.disabledReasons[reason] ?? reason}`}
								tone={count > 0 ? 'bad' : undefined}
							>
								<Link view="webhooks" filter={{ webhooks: row.source, isEnabled: 'false' }}>
									{formatNumber(count)}
								</Link>
							</Tile>
						))}
						{row.failingSinceMs !== null && (
							<Tile label={t.since}>
								<Growing ms={row.failingSinceMs} />
							</Tile>
						)}
					</dl>
				</Section>
			))}
		</>
	)
}
