/** The question the demo asks its data. */
export const DEMO_QUERY = `SELECT topic_id, count(*) AS mentions, round(avg(sentiment), 2) AS avg_sentiment
FROM visibility_mentions
GROUP BY topic_id
ORDER BY mentions DESC, topic_id
LIMIT 5`;
