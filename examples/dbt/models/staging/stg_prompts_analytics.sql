-- One row for each prompt and day (and account, if there are several), with a key of one column.
select
    {% if var('accounts') %}account,{% endif %}
    concat_ws('|', {% if var('accounts') %}account,{% endif %} prompt_id, date) as prompt_day,
    prompt_id,
    date,
    topic_name,
    provider,
    visibility_score,
    mentions
from {{ source('sluice', 'prompts_analytics') }}
